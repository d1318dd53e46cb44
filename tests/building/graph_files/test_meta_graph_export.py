"""MetaGraphDefs of graphs and of their scopes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.formats import messages_pb2


def model() -> Any:
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("net"):
            w = tf.Variable(tf.ones([2, 1]), name="w")
            with tf.control_dependencies([tf.no_op(name="first")]):
                y = tf.matmul(x, w, name="y")
        for name, item in {"out": y, "numbers": 3, "reals": 0.5, "texts": "net/a"}.items():
            tf.add_to_collection(name, item)
    return graph


def test_a_graph_with_its_collections() -> None:
    graph = model()
    meta_graph, variables = export_scoped_meta_graph(graph=graph)
    assert meta_graph.graph_def == graph.as_graph_def(add_shapes=True)
    assert list(variables) == ["net/w:0"]
    info = meta_graph.meta_info_def
    assert (info.tensorflow_version, info.stripped_default_attrs) == ("1.15.0", False)
    types = ["Assign", "Const", "Identity", "MatMul", "NoOp", "Placeholder", "VariableV2"]
    assert [op.name for op in info.stripped_op_list.op] == types
    kinds = {key: item.WhichOneof("kind") for key, item in meta_graph.collection_def.items()}
    assert kinds == {
        "variables": "bytes_list",
        "trainable_variables": "bytes_list",
        "out": "node_list",
        "numbers": "int64_list",
        "reals": "float_list",
        "texts": "bytes_list",
    }
    assert [*meta_graph.collection_def["out"].node_list.value] == ["net/y:0"]
    chosen, _ = export_scoped_meta_graph(graph=graph, collection_list=["out", "absent"])
    assert [*chosen.collection_def] == ["out"]


def test_a_scope_is_exported_without_its_name() -> None:
    graph = model()
    meta_graph, variables = export_scoped_meta_graph(
        graph=graph, export_scope="net", clear_devices=True
    )
    assert list(variables) == ["w:0"]
    nodes = {node.name: node for node in meta_graph.graph_def.node}
    assert sorted(nodes) == ["first", "ones", "w", "w/Assign", "w/read", "y"]
    assert [*nodes["y"].input] == ["$unbound_inputs_x", "w/read", "^first"]
    assert nodes["w/read"].attr["_class"].list.s == [b"loc:@w"]
    assert {node.device for node in nodes.values()} == {""}
    unbound = meta_graph.collection_def["unbound_inputs"].bytes_list.value
    assert [*unbound] == [b"$unbound_inputs_x"]
    assert [*meta_graph.collection_def["out"].node_list.value] == ["y:0"]


def test_defaults_are_stripped() -> None:
    meta_graph, _ = export_scoped_meta_graph(graph=model(), strip_default_attrs=True)
    product = next(node for node in meta_graph.graph_def.node if node.op == "MatMul")
    assert sorted(product.attr) == ["T", "_output_shapes"]
    assert meta_graph.meta_info_def.stripped_default_attrs


def test_other_savers_are_left_out() -> None:
    graph_def = tf.GraphDef()
    for scope in ("save", "save_1"):
        graph_def.node.add(name=f"{scope}/SaveV2", op="SaveV2")
        graph_def.node.add(name=f"{scope}/restore_all", op="NoOp")
    graph_def.node.add(name="saved", op="NoOp")
    saver = messages_pb2.SaverDef(
        save_tensor_name="save_1/control:0", restore_op_name="save_1/restore_all"
    )
    meta_graph, _ = export_scoped_meta_graph(
        graph_def=graph_def, graph=tf.Graph(), saver_def=saver, clear_extraneous_savers=True
    )
    names = [node.name for node in meta_graph.graph_def.node]
    assert names == ["save_1/SaveV2", "save_1/restore_all", "saved"]
    assert meta_graph.saver_def == saver


@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_is_written(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "folder" / "model.meta"
    meta_graph, _ = export_scoped_meta_graph(str(path), graph=model(), as_text=as_text)
    content = path.read_bytes()
    assert messages_pb2.parse_message(messages_pb2.MetaGraphDef, content) == meta_graph
    assert content.startswith(b"meta_info_def {") is as_text


def test_what_can_t_be_written_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(tf.logging, "warning", lambda text, *parts: warnings.append(text % parts))
    graph = model()
    graph.add_to_collection("odd", object())
    graph.add_to_collection("mixed", 1)
    graph.add_to_collection("mixed", "text")
    meta_graph, _ = export_scoped_meta_graph(graph=graph)
    assert not {"odd", "mixed"} & set(meta_graph.collection_def)
    assert ["Issue encountered when serializing odd" in text for text in warnings] == [True, False]


def test_messages_of_another_type_are_refused() -> None:
    for options, said in (
        ({"graph_def": "g"}, "graph_def must be a"),
        ({"saver_def": tf.GraphDef()}, "saver_def must be a SaverDef"),
        ({"meta_info_def": tf.GraphDef()}, "meta_info_def must be a"),
        ({"graph": "g"}, "graph must be a tf.Graph"),
    ):
        with pytest.raises(TypeError, match=said):
            export_scoped_meta_graph(**options)


def test_op_types_of_a_graph_def() -> None:
    graph_def = model().as_graph_def()
    used = tf.contrib.util.ops_used_by_graph_def(graph_def)
    assert used[:3] == ["Assign", "Const", "Identity"] and used == sorted(set(used))
    op_list = tf.contrib.util.stripped_op_list_for_graph(graph_def)
    assert [op.name for op in op_list.op] == used
    node = graph_def.library.function.add().node_def.add()
    node.op = "NoSuchOp"
    assert "NoSuchOp" in tf.contrib.util.ops_used_by_graph_def(graph_def)
    assert tf.contrib.util.stripped_op_list_for_graph(graph_def) == op_list

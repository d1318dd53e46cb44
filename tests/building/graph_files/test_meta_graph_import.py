"""MetaGraphDefs as graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.building.graph_files.meta_graph_import import (
    copy_scoped_meta_graph,
    import_scoped_meta_graph,
    import_scoped_meta_graph_with_return_elements,
)
from gpugraph.formats import messages_pb2


def model(use_resource: bool = False) -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        w = tf.Variable(3.0, name="w", use_resource=use_resource)
        step = tf.Variable(0, name="step", trainable=False, collections=["local_variables"])
        y = tf.while_loop(lambda v: v < 20, lambda v: v * w, [x])
        tf.add_to_collection("y", tf.cond(x > 0, lambda: y, lambda: -y))
        for name, item in {"numbers": 3, "reals": 0.5, "texts": "a"}.items():
            tf.add_to_collection(name, item)
        tf.add_to_collection("steps", step.initializer)
    return graph


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("scope", [None, "s"])
def test_what_was_exported_runs_and_trains(scope: str | None, use_resource: bool) -> None:
    exported, _ = export_scoped_meta_graph(graph=model(use_resource))
    with tf.Graph().as_default() as graph, tf.Session() as session:
        variables, (x,) = import_scoped_meta_graph_with_return_elements(
            exported, import_scope=scope, return_elements=["x:0"]
        )
        assert list(variables) == ["w:0"]
        assert tf.trainable_variables() == tf.global_variables() == list(variables.values())
        again, _ = export_scoped_meta_graph(graph=graph, export_scope=scope)
        assert again.collection_def["while_context"] == exported.collection_def["while_context"]
        (y,) = tf.get_collection("y")
        session.run([variable.initializer for variable in tf.global_variables()])
        gradients = tf.gradients(y, [x, tf.trainable_variables()[0]])
        assert session.run([y, *gradients], {x: 2.0}) == [54.0, 27.0, 54.0]
        assert (tf.get_collection("numbers"), tf.get_collection("reals")) == ([3], [0.5])
        assert tf.get_collection("texts") == ["s/a" if scope else "a"]
        assert [op.type for op in tf.get_collection("steps")] == ["Assign"]
        assert [variable.trainable for variable in tf.local_variables()] == [False]


def test_a_file_is_read(tmp_path: Path) -> None:
    for as_text in (True, False):
        path = tmp_path / f"{as_text}.meta"
        export_scoped_meta_graph(str(path), graph=model(), as_text=as_text)
        with tf.Graph().as_default():
            assert list(import_scoped_meta_graph(path)) == ["w:0"]
    for content in (b"\x0a\xff", b"meta_info_def {", b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(OSError, match="Cannot parse file"):
            import_scoped_meta_graph(str(path))
    with pytest.raises(OSError, match="does not exist"):
        import_scoped_meta_graph(str(tmp_path / "absent"))


def test_devices_are_cleared_and_collections_chosen() -> None:
    with tf.Graph().as_default() as graph, tf.device("/gpu:3"):
        tf.add_to_collection("a", tf.constant(1.0))
        tf.add_to_collection("b", tf.constant(1.0))
    exported, _ = export_scoped_meta_graph(graph=graph)
    target = tf.Graph()
    import_scoped_meta_graph(
        exported, True, target, restore_collections_predicate=lambda key: key == "b"
    )
    assert {op.device for op in target.get_operations()} == {""}
    assert target.get_all_collection_keys() == ["b"]


def test_inputs_from_outside_have_to_be_given() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0, name="x")
        with tf.name_scope("net"):
            tf.negative(x, name="y")
        exported, _ = export_scoped_meta_graph(export_scope="net")
        with pytest.raises(ValueError, match=r"Graph contains unbound inputs: \$unbound_inputs_x"):
            import_scoped_meta_graph(exported)
        import_scoped_meta_graph(
            exported, import_scope="copy", input_map={"$unbound_inputs_x": x * 2}
        )
        assert tf.Session().run("copy/y:0") == -4.0
    assert graph.get_operation_by_name("copy/y").inputs[0].op.type == "Mul"


def test_a_scope_is_copied() -> None:
    with tf.Graph().as_default():
        with tf.name_scope("one"):
            tf.Variable(1.0, name="w")
        assert [v.name for v in copy_scoped_meta_graph("one", "two").values()] == ["two/w:0"]
        with pytest.raises(ValueError, match="need to be different"):
            copy_scoped_meta_graph("one", "one")


def test_what_is_no_meta_graph_is_refused() -> None:
    with pytest.raises(TypeError, match="A MetaGraphDef or a path is needed"):
        import_scoped_meta_graph(tf.GraphDef())
    meta_graph = messages_pb2.MetaGraphDef()
    meta_graph.collection_def["variables"].bytes_list.value.append(b"\xff\xff")
    with tf.Graph().as_default(), pytest.raises(ValueError, match="variables"):
        import_scoped_meta_graph(meta_graph)
    meta_graph.collection_def["variables"].bytes_list.value[:] = [b""]
    with tf.Graph().as_default(), pytest.raises(ValueError, match="not a Tensor's"):
        import_scoped_meta_graph(meta_graph)


def test_text_with_fields_of_later_versions_is_read(tmp_path):
    path = tmp_path / "graph.meta"
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="one")
        text = str(export_scoped_meta_graph(graph=graph)[0])
    path.write_text('later_field { name: "x" }\n' + text)
    with tf.Graph().as_default() as graph:
        import_scoped_meta_graph(str(path))
        assert [op.name for op in graph.get_operations()] == ["one"]

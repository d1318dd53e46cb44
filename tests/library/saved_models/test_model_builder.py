"""SavedModelBuilder: the contents of the folder, and its errors."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2

Builder = tf.saved_model.builder.SavedModelBuilder


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        with tf.device("/cpu:0"):
            tf.matmul(x, w, name="y")
        session.run(tf.global_variables_initializer())
        yield session


def signatures(session: Any) -> dict[str, Any]:
    x, y = (session.graph.get_tensor_by_name(name) for name in ("x:0", "y:0"))
    return {"serving_default": tf.saved_model.predict_signature_def({"x": x}, {"y": y})}


def saved(folder: pathlib.Path) -> Any:
    return messages_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())


def test_the_folder(session: Any, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "a" / "model"
    builder = Builder(folder)
    builder.add_meta_graph_and_variables(session, ["serve", "gpu"], signatures(session))
    assert not tf.saved_model.contains_saved_model(folder)
    assert builder.save() == str(folder / "saved_model.pb").encode()
    assert tf.saved_model.contains_saved_model(str(folder))
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == [
        "saved_model.pb",
        "variables.data-00000-of-00001",
        "variables.index",
    ]
    (meta_graph,) = saved(folder).meta_graphs
    assert saved(folder).saved_model_schema_version == 1
    assert list(meta_graph.meta_info_def.tags) == ["serve", "gpu"]
    assert meta_graph.signature_def["serving_default"] == signatures(session)["serving_default"]
    assert meta_graph.saver_def.sharded and meta_graph.saver_def.restore_op_name
    devices = {node.name: node.device for node in meta_graph.graph_def.node}
    assert devices["y"] == "/device:CPU:0"


def test_text_devices_and_defaults(session: Any, tmp_path: pathlib.Path) -> None:
    builder = Builder(str(tmp_path / "m"))
    builder.add_meta_graph_and_variables(
        session, ["serve"], clear_devices=True, strip_default_attrs=True
    )
    path = builder.save(as_text=True)
    assert path.endswith(b"saved_model.pbtxt")
    message = messages_pb2.parse_text(
        messages_pb2.SavedModel, pathlib.Path(path.decode()).read_bytes()
    )
    nodes = {node.name: node for node in message.meta_graphs[0].graph_def.node}
    assert not any(node.device for node in nodes.values())
    assert "transpose_a" not in nodes["y"].attr
    assert message.meta_graphs[0].meta_info_def.stripped_default_attrs


def test_several_meta_graphs(session: Any, tmp_path: pathlib.Path) -> None:
    builder = Builder(tmp_path)
    with pytest.raises(AssertionError, match="has not been saved yet"):
        builder.add_meta_graph(["train"])
    builder.add_meta_graph_and_variables(session, ["serve"])
    with pytest.raises(AssertionError, match="has already been saved"):
        builder.add_meta_graph_and_variables(session, ["serve"])
    with tf.Graph().as_default():
        w = tf.Variable([[0.0], [0.0]], name="w")
        tf.reduce_sum(w, name="sum")
        builder.add_meta_graph(["train"], main_op=tf.no_op(name="main"))
    builder.save()
    for tags, fetch, expected in ((["train"], "sum:0", 3.0), (["serve"], "w:0", [[1], [2]])):
        with tf.Session(graph=tf.Graph()) as other:
            tf.saved_model.load(other, tags, tmp_path)
            np.testing.assert_array_equal(other.run(fetch), expected)


def test_a_saver_of_its_own(session: Any, tmp_path: pathlib.Path) -> None:
    other = tf.Variable(5.0, name="other")
    session.run(other.initializer)
    builder = Builder(tmp_path)
    saver = tf.train.Saver([other])
    builder.add_meta_graph_and_variables(session, ["serve"], saver=saver)
    builder.save()
    prefix = str(tmp_path / "variables" / "variables")
    assert tf.train.list_variables(prefix) == [("other", [])]


def test_a_graph_without_variables(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [], name="x")
        tf.saved_model.simple_save(session, tmp_path, {"x": x}, {"y": x + 1})
    with tf.saved_model.load_function(tmp_path) as function:
        assert function(x=2) == {"y": 3}


def test_folders_that_are_not_empty_are_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        Builder(tmp_path)


def test_signatures_that_are_refused(session: Any, tmp_path: pathlib.Path) -> None:
    builder = Builder(tmp_path)
    info = messages_pb2.TensorInfo
    for bad, problem in (
        (info(), "one of the 'encoding' fields"),
        (info(name="x:0"), "the dtype field set"),
    ):
        signature = tf.saved_model.build_signature_def({"x": bad})
        with pytest.raises(AssertionError, match=f"(?s)Invalid `tensor_info`.*{problem}"):
            builder.add_meta_graph_and_variables(session, ["serve"], {"a": signature})
    signature = signatures(session)["serving_default"]
    for key in ("__saved_model_init_op", "__saved_model_train_op"):
        with pytest.raises(KeyError, match="is reserved"):
            builder.add_meta_graph_and_variables(session, ["serve"], {key: signature})
    builder.add_meta_graph_and_variables(session, ["serve"])


def test_main_ops(session: Any, tmp_path: pathlib.Path) -> None:
    step = tf.Variable(0, name="step", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    builder = Builder(tmp_path)
    with pytest.raises(TypeError, match="main_op needs to be an Operation"):
        builder.add_meta_graph_and_variables(session, ["serve"], main_op="init")
    builder.add_meta_graph_and_variables(session, ["serve"], main_op=step.initializer)
    with pytest.raises(ValueError, match="already contains one or more main ops"):
        builder.add_meta_graph(["train"], main_op=step.initializer)
    builder.save()
    with tf.Session(graph=tf.Graph()) as other:
        tf.saved_model.load(other, {"serve"}, tmp_path)
        assert other.run("step:0") == 0


def test_main_op_with_restore(session: Any, tmp_path: pathlib.Path) -> None:
    name = session.graph.get_operation_by_name("w/Assign")
    main = tf.saved_model.main_op_with_restore(name)
    assert tf.saved_model.main_op.main_op_with_restore is tf.saved_model.main_op_with_restore
    session.run(main)
    assert tf.saved_model.main_op.main_op().type == "NoOp"


def test_a_model_of_more_than_two_gib_is_refused(
    session: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Builder(tmp_path / "model")
    builder.add_meta_graph_and_variables(session, ["serve"])
    monkeypatch.setattr("gpugraph.formats.messages.message_classes._LARGEST", 1000)
    message = r"Message tensorflow\.SavedModel exceeds maximum protobuf size of 2GB"
    with pytest.raises(ValueError, match=message):
        builder.save()
    assert not tf.saved_model.contains_saved_model(tmp_path / "model")
    with pytest.raises(ValueError, match=r"tensorflow\.MetaGraphDef exceeds maximum protobuf size"):
        tf.train.export_meta_graph(str(tmp_path / "x.meta"))
    with pytest.raises(ValueError, match=r"tensorflow\.GraphDef exceeds maximum protobuf size"):
        tf.train.write_graph(session.graph, str(tmp_path), "x.pb", as_text=False)

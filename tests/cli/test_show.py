"""`gpugraph show`: its output for each kind of file, and its exit status."""

from __future__ import annotations

import json
import pathlib
import zipfile

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.cli import main
from gpugraph.formats import messages_pb2
from gpugraph.library.saved_models.signatures import predict_signature_def


@pytest.fixture
def graph() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        w = tf.Variable(tf.ones([4, 2]), name="w")
        tf.Variable(3, name="step", trainable=False)
        tf.nn.relu(tf.matmul(x, w), name="y")
    return graph


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> list[str]:
    assert main(["show", *arguments]) == status
    output = capsys.readouterr()
    assert not output.err
    return [" ".join(line.split()) for line in output.out.splitlines()]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_graph(
    as_text: bool, graph: tf.Graph, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tf.io.write_graph(graph, tmp_path, "graph.pb", as_text)
    lines = shown(capsys, path)
    assert lines[0] == f"GraphDef {path}, producer version {graph.as_graph_def().versions.producer}"
    expected = {"placeholders: 1", "x float32 [?,4]", "w float32 [4,2]", "step int32 []"}
    expected |= {"y (Relu)", "ops: 11 nodes of 7 types", "2 VariableV2", "all ops are here"}
    assert expected <= set(lines)


def test_a_meta_graph_and_a_saved_model(
    graph: tf.Graph, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.meta"
    meta_graph, _ = export_scoped_meta_graph(str(path), graph=graph)
    lines = shown(capsys, str(path))
    assert "w float32 [4,2] trainable" in lines and "step int32 []" in lines
    assert "trainable_variables 1" in lines
    tensors = [graph.get_tensor_by_name(name) for name in ("x:0", "y:0")]
    signature = predict_signature_def({"images": tensors[0]}, {"scores": tensors[1]})
    meta_graph.signature_def["serving_default"].CopyFrom(signature)
    meta_graph.meta_info_def.tags.append("serve")
    saved_model = messages_pb2.SavedModel(saved_model_schema_version=1, meta_graphs=[meta_graph])
    (tmp_path / "saved_model.pb").write_bytes(saved_model.SerializeToString())
    for place in (tmp_path, tmp_path / "saved_model.pb"):
        lines = shown(capsys, str(place))
        assert lines[0] == f"SavedModel {place}, 1 meta graphs"
        assert lines[1].startswith("meta graph [serve], written by 1.15")
        assert "signature serving_default (tensorflow/serving/predict)" in lines
        assert "input images float32 [?,4] x:0" in lines
        assert "output scores float32 [?,2] y:0" in lines


def test_ops_that_are_not_here_are_listed_with_the_reason(
    graph: tf.Graph, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph_def = graph.as_graph_def()
    graph_def.node.add(name="a", op="Zappa")
    graph_def.node.add(name="b", op="Zappa")
    graph_def.node.add(name="c", op="called")
    graph_def.library.function.add().signature.name = "called"
    lines = shown(capsys, tf.io.write_graph(graph_def, tmp_path, "g.pb", False), status=1)
    assert "cannot run here: 2 nodes of 1 types" in lines
    assert any(line.startswith("2 Zappa: Op type not registered 'Zappa'") for line in lines)
    assert "functions: 1" in lines
    graph_def = graph.as_graph_def()
    graph_def.node[0].input.append("nobody")
    lines = shown(capsys, tf.io.write_graph(graph_def, tmp_path, "g.pb", False), status=1)
    assert "cannot be imported here" in lines and any("nobody" in line for line in lines)


def test_arrays_and_what_a_terminal_would_obey(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = {f"a{number}": np.zeros((number, 2), np.float32) for number in range(50)}
    np.savez(tmp_path / "x.npz", **arrays, **{"bell\x1b[31m": np.zeros(2)})
    lines = shown(capsys, str(tmp_path / "x.npz"))
    assert "a3 float32 [3, 2]" in lines and lines[-1] == "... and 11 more: --all shows them"
    lines = shown(capsys, "--all", str(tmp_path / "x.npz"))
    assert len(lines) == 53 and lines[-1] == r"bell\x1b[31m float64 [2]"


def test_what_can_not_be_read_is_said(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("nothing of the kind")
    (tmp_path / "x.npz").write_text("no zip")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "saved_model.pb").write_bytes(b"\xff\xff")
    for name, problem in {
        "missing": "can't open",
        "text": "is no GraphDef, MetaGraphDef or SavedModel",
        "x.npz": "at byte 0: no zip file",
        "folder": "Cannot parse file",
    }.items():
        assert main(["show", str(tmp_path / name)]) == 2
        output = capsys.readouterr()
        assert output.err.startswith("gpugraph: ") and problem in output.err and name in output.err


def test_the_latest_checkpoint_of_a_folder(
    graph: tf.Graph, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with graph.as_default(), tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        for step in (1, 2):
            saver.save(session, str(tmp_path / "model"), global_step=step)
    lines = shown(capsys, str(tmp_path))
    assert lines[0] == f"checkpoint {tmp_path}/model-2"
    target = tmp_path / "variables.npz"
    assert main(["convert", str(tmp_path), str(target)]) == 0
    with np.load(target) as arrays:
        assert arrays["step"] == 3
    empty = tmp_path / "empty"
    empty.mkdir()
    for command in (["show", str(empty)], ["convert", str(empty), str(target)]):
        assert main(command) == 2
        assert "Couldn't find 'checkpoint' file or checkpoints in" in capsys.readouterr().err


def test_a_keras_model(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("h5py")
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="relu", input_shape=[2])])
    model.compile("adam", "mse")
    model.save(tmp_path / "model.h5")
    lines = shown(capsys, str(tmp_path / "model.h5"))
    assert "model Sequential: 1 layers" in lines and "loss mse" in lines
    assert any(line.endswith("(Dense) units 3, relu") for line in lines)
    assert any(line.endswith("kernel:0 float32 [2, 3]") for line in lines)


def test_an_archive_of_keras_3(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    layer = {"class_name": "Dense", "config": {"name": "d", "units": 4}}
    config = {"class_name": "Sequential", "config": {"layers": [layer]}}
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("config.json", json.dumps(config))
    lines = shown(capsys, str(tmp_path / "model.keras"))
    assert lines[1:] == ["model Sequential: 1 layers", "d (Dense) units 4", "files: 1",
                         "config.json 114 bytes"]  # fmt: skip
    (tmp_path / "model.keras").write_bytes(b"PK\x03\x04 no archive")
    assert main(["show", str(tmp_path / "model.keras")]) == 2
    assert "is no .keras file: " in capsys.readouterr().err


def test_events_and_records(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default(), tf.summary.FileWriter(tmp_path / "logs") as writer:
        for step in range(3):
            value = tf.Summary.Value(tag="loss", simple_value=step / 2)
            writer.add_summary(tf.Summary(value=[value]), step)
    (path,) = (tmp_path / "logs").iterdir()
    lines = shown(capsys, str(path))
    assert lines[0].endswith(", 4 events, steps 0 to 2")
    assert lines[1:] == ["summaries: 1 tags", "loss 3 values simple_value, last 1"]
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as record_writer:
        record_writer.write(example.SerializeToString())
    lines = shown(capsys, str(tmp_path / "a.tfrecord"))
    assert lines[0].endswith("a.tfrecord, 1 records, 21B")
    assert lines[1:] == ["features of the first Example", "x float_list 2"]


@pytest.mark.parametrize("content", [b"# A page\n", b"\x89PNG\r\n", b"MZ\0\0"])
def test_a_file_of_no_known_kind(
    content: bytes, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(content)
    assert main(["show", str(tmp_path / "file")]) == 2
    assert "is no GraphDef, MetaGraphDef or SavedModel, no checkpoint" in capsys.readouterr().err


def test_several_files_of_which_one_is_empty(
    graph: tf.Graph, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tf.io.write_graph(graph, tmp_path, "graph.pb", False)
    (tmp_path / "empty").write_bytes(b"")
    assert main(["show", path, str(tmp_path / "empty"), path]) == 2
    output = capsys.readouterr()
    assert output.out.count("GraphDef ") == 2
    assert output.err == f"gpugraph: {tmp_path / 'empty'} is empty\n"


def test_a_folder_of_records_shows_its_files(capsys, tmp_path) -> None:
    for name in ("b", "a"):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"{name}.tfrecords")) as writer:
            writer.write(b"one")
    (tmp_path / "notes.txt").write_text("no records")
    first, *lines = shown(capsys, str(tmp_path))
    assert first == f"folder {tmp_path}, 2 files"
    assert [line.partition(",")[0].rpartition("/")[2] for line in lines] == [
        "a.tfrecords",
        "b.tfrecords",
    ]
    (tmp_path / "empty").mkdir()
    assert main(["show", str(tmp_path / "empty")]) == 2
    assert "Couldn't find 'checkpoint' file" in capsys.readouterr().err


def test_a_converted_checkpoint_is_the_latest_of_its_folder(capsys, tmp_path) -> None:
    np.savez(tmp_path / "x.npz", w=np.ones(3, np.float32))
    prefix = str(tmp_path / "back" / "model.ckpt-40")
    assert main(["convert", str(tmp_path / "x.npz"), prefix]) == 0
    assert tf.train.latest_checkpoint(str(tmp_path / "back")) == prefix
    state = (tmp_path / "back" / "checkpoint").read_text()
    assert 'model_checkpoint_path: "model.ckpt-40"' in state
    assert main(["convert", str(tmp_path / "x.npz"), f"{prefix}1"]) == 0
    assert (tmp_path / "back" / "checkpoint").read_text() == state
    capsys.readouterr()

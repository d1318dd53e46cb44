"""Loading SavedModels: graph, variables, main op, scopes, and refused files."""

from __future__ import annotations

import pathlib
import random
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2
from gpugraph.library.saved_models.model_loader import SavedModelLoader

REFUSALS = (OSError, ValueError, TypeError, KeyError, RuntimeError, tf.errors.OpError)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer(), use_resource=True)
        y = tf.matmul(x, w, name="y")
        tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(y), name="train")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, tmp_path / "m", {"x": x}, {"y": y})
    return tmp_path / "m"


def test_training_goes_on(folder: pathlib.Path) -> None:
    with tf.Session(graph=tf.Graph()) as session:
        meta_graph = tf.saved_model.loader.load(session, ["serve"], str(folder))
        assert list(meta_graph.meta_info_def.tags) == ["serve"]
        assert [variable.name for variable in tf.trainable_variables()] == ["w:0"]
        session.run("train", {"x:0": [[1, 2]]})
        np.testing.assert_array_equal(session.run("y:0", {"x:0": [[1, 1]]}), [[0.5]])


def test_a_scope_and_arguments_of_the_import(folder: pathlib.Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant([[3.0, 4.0]])
        tf.saved_model.load(session, ["serve"], folder, import_scope="a", input_map={"x:0": x})
        np.testing.assert_array_equal(session.run("a/y:0"), [[7.0]])
        with tf.Session(graph=tf.Graph()) as other:
            saver, elements = SavedModelLoader(folder).load_graph(
                other.graph, "serve", return_elements=["y:0"]
            )
            assert elements == [other.graph.get_tensor_by_name("y:0")] and saver is not None
        assert graph is tf.get_default_graph()


def test_the_parts_of_a_loader(folder: pathlib.Path) -> None:
    loader = SavedModelLoader(folder)
    assert loader.export_dir == str(folder)
    assert loader.variables_path == str(folder / "variables" / "variables")
    assert len(loader.saved_model.meta_graphs) == 1
    with tf.Session(graph=tf.Graph()) as session:
        loader.load_graph(session.graph, ["serve"])
        with pytest.raises(ValueError, match="a saver is required"):
            loader.restore_variables(session, None)


def test_what_is_not_there(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with tf.Session(graph=tf.Graph()) as session:
        with pytest.raises(RuntimeError, match=r"'a', 'b' could not be found.*\['serve'\]"):
            tf.saved_model.load(session, ["a", "b"], folder)
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            tf.saved_model.load(session, ["serve"], tmp_path / "other")
        assert not session.graph.get_operations()
        (folder / "variables" / "variables.index").unlink()
        with pytest.raises(ValueError, match=r"not a valid checkpoint.*variables/variables"):
            tf.saved_model.load(session, ["serve"], folder)
    assert not tf.saved_model.maybe_saved_model_directory(tmp_path)


def change(folder: pathlib.Path) -> Any:
    """Yield the message of a SavedModel, and write it again afterwards."""
    path = folder / "saved_model.pb"
    message = messages_pb2.SavedModel.FromString(path.read_bytes())
    return message, lambda: path.write_bytes(message.SerializeToString())


def test_main_ops_of_other_writers(folder: pathlib.Path) -> None:
    message, write = change(folder)
    meta_graph = message.meta_graphs[0]
    key = "__saved_model_init_op"
    meta_graph.signature_def[key].outputs[key].name = "train"
    meta_graph.graph_def.node.add(name="hello", op="NoOp")
    meta_graph.signature_def[key].outputs[key].name = "hello"
    write()
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], folder)
    meta_graph.signature_def[key].outputs[key].name = "nobody"
    write()
    with tf.Session(graph=tf.Graph()) as session, pytest.raises(tf.errors.NotFoundError, match=key):
        tf.saved_model.load(session, ["serve"], folder)
    del meta_graph.signature_def[key]
    meta_graph.collection_def["legacy_init_op"].node_list.value.extend(["hello", "hello"])
    write()
    with (
        tf.Session(graph=tf.Graph()) as session,
        pytest.raises(RuntimeError, match="Expected exactly one SavedModel init op"),
    ):
        tf.saved_model.load(session, ["serve"], folder)


def test_files_that_are_none(folder: pathlib.Path) -> None:
    for name, content in (("saved_model.pb", b"\xff"), ("saved_model.pbtxt", b"meta_graphs {")):
        for path in folder.glob("saved_model.*"):
            path.unlink()
        (folder / name).write_bytes(content)
        with pytest.raises(OSError, match=f"Cannot parse file .*{name}"):
            SavedModelLoader(folder)


def mutated_models_are_loaded_or_refused(folder: pathlib.Path, count: int, seed: int) -> None:
    random_source = random.Random(seed)
    path = folder / "saved_model.pb"
    whole = path.read_bytes()
    loaded = 0
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(random_source.choice((1, 1, 2, 6))):
            place = random_source.randrange(len(data) or 1)
            kind, length = random_source.randrange(4), random_source.choice((1, 2, 9, 100))
            if kind == 0 and data:
                data[place] = random_source.randrange(256)
            elif kind == 1 and data:
                data[place] ^= 1 << random_source.randrange(8)
            elif kind == 2:
                del data[place : place + length]
            else:
                data[place:place] = data[place : place + length]
        path.write_bytes(data)
        with tf.Session(graph=tf.Graph()) as session:
            try:
                tf.saved_model.load(session, ["serve"], folder)
                loaded += 1
            except REFUSALS:
                pass
    path.write_bytes(whole)
    assert 0 < loaded < count


def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("info", "warning", "error"):
        monkeypatch.setattr(tf.logging, name, lambda *_: None)


def test_mutated_models(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch)
    mutated_models_are_loaded_or_refused(folder, 150, 1)


@pytest.mark.exhaustive
def test_many_mutated_models(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch)
    mutated_models_are_loaded_or_refused(folder, 30_000, 2)

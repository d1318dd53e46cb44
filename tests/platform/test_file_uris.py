"""Paths as URIs, "file:///folder/name", wherever a path is taken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run in a folder that stays empty: a URI is no relative path."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with tf.Graph().as_default():
        yield
    assert os.listdir(tmp_path / "here") == []


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"file://{tmp_path}/there"


def text(path: str) -> Any:
    with tf.gfile.GFile(path) as file:
        return file.read()


def test_files_and_folders(tmp_path: Path, uri: str) -> None:
    tf.gfile.MakeDirs(f"{uri}/a")
    with tf.gfile.GFile(f"{uri}/a/x.txt", "w") as file:
        file.write("hi")
    assert (tmp_path / "there" / "a" / "x.txt").read_text() == "hi"
    assert text(f"{uri}/a/x.txt") == "hi"
    assert tf.gfile.Exists(f"{uri}/a/x.txt") and tf.gfile.IsDirectory(uri.encode())
    assert tf.gfile.Stat(f"{uri}/a/x.txt").length == 2
    assert tf.gfile.ListDirectory(f"{uri}/a") == ["x.txt"]
    assert tf.gfile.Glob(f"{uri}/*/x*") == [f"{uri}/a/x.txt"]
    assert [*tf.gfile.Walk(uri)] == [(uri, ["a"], []), (f"{uri}/a", [], ["x.txt"])]
    tf.gfile.Copy(f"{uri}/a/x.txt", f"{uri}/a/y")
    tf.gfile.Rename(f"{uri}/a/y", f"{uri}/z")
    tf.gfile.Remove(f"{uri}/z")
    tf.gfile.MkDir(f"{uri}/b")
    tf.gfile.DeleteRecursively(f"{uri}/a")
    assert os.listdir(tmp_path / "there") == ["b"]
    with pytest.raises(tf.errors.NotFoundError, match=r"file://.*none"):
        text(f"{uri}/none")


def test_a_host_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hi")
    assert text(f"file://localhost{tmp_path}/x") == "hi"


def test_checkpoints_and_states(uri: str) -> None:
    variable = tf.Variable(1.0, name="v")
    tf.gfile.MakeDirs(uri)
    for saver in (tf.train.Saver(), tf.train.Saver(sharded=True)):
        with tf.Session() as session:
            session.run(variable.initializer)
            path = saver.save(session, f"{uri}/m", global_step=1)
            assert path == f"{uri}/m-1"
            session.run(variable.assign(7.0))
            saver.restore(session, path)
            assert session.run(variable) == 1
        assert tf.train.latest_checkpoint(uri) == path
        assert tf.train.list_variables(path) == [("v", [])]
        tf.train.remove_checkpoint(path)
        assert not tf.train.checkpoint_exists(path)


def test_objects_meta_graphs_and_saved_models(uri: str) -> None:
    x, v = tf.placeholder(tf.float32, []), tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        tf.train.Checkpoint(v=v).save(f"{uri}/c", session=session)
        tf.saved_model.simple_save(session, f"{uri}/model", {"x": x}, {"y": x * v})
    tf.train.export_meta_graph(f"{uri}/g.meta")
    with tf.Graph().as_default():
        tf.train.import_meta_graph(f"{uri}/g.meta")
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.saved_model.load(session, ["serve"], f"{uri}/model")
    assert [*model.signature_def] == ["serving_default"]


def test_events_and_records(uri: str) -> None:
    with tf.summary.FileWriter(f"{uri}/events") as writer:
        writer.add_summary(tf.Summary(), 3)
    (path,) = tf.gfile.Glob(f"{uri}/events/*")
    assert [event.step for event in tf.train.summary_iterator(path)] == [0, 3]
    with tf.python_io.TFRecordWriter(f"{uri}/r") as records:
        records.write(b"abc")
    assert [*tf.python_io.tf_record_iterator(f"{uri}/r")] == [b"abc"]
    queue = tf.FIFOQueue(1, tf.string)
    key, value = tf.TFRecordReader().read(queue)
    with tf.Session() as session:
        session.run(queue.enqueue(f"{uri}/r"))
        assert session.run([key, value]) == [f"{uri}/r:0".encode(), b"abc"]


def test_ops_and_tables(uri: str) -> None:
    table = tf.contrib.lookup.index_table_from_file(f"{uri}/w")
    with tf.Session() as session:
        session.run(tf.write_file(f"{uri}/w", "a\nb\n"))
        assert session.run(tf.read_file(f"{uri}/w")) == b"a\nb\n"
        assert session.run(tf.matching_files(f"{uri}/*")).tolist() == [f"{uri}/w".encode()]
        session.run(tf.tables_initializer())
        assert session.run(table.lookup(tf.constant(["b"]))).tolist() == [1]


def test_monitored_sessions_and_keras(tmp_path: Path, uri: str) -> None:
    step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=f"{uri}/run") as session:
        session.run(step)
    assert tf.train.latest_checkpoint(f"{uri}/run") == f"{uri}/run/model.ckpt-1"
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    for name in ("w", "w.h5"):
        model.save_weights(f"{uri}/{name}")
        model.load_weights(f"{uri}/{name}")
    model.save(f"{uri}/m.h5")
    assert tf.keras.models.load_model(f"{uri}/m.h5").count_params() == 3
    log = tf.keras.callbacks.CSVLogger(f"{uri}/log.csv")
    model.fit(np.ones([1, 2]), np.ones([1]), verbose=0, callbacks=[log])
    assert (tmp_path / "there" / "log.csv").read_text().startswith("epoch,loss")

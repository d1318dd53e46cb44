"""Graphs as files."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpugraph as tf


@pytest.mark.parametrize("as_text", [True, False])
def test_a_graph_is_written_and_read_again(tmp_path: Path, as_text: bool) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
    folder = tmp_path / "new" / "folder"
    path = tf.io.write_graph(graph, str(folder), "graph.pb", as_text)
    assert path == str(folder / "graph.pb")
    tf.train.write_graph(graph.as_graph_def(), folder, "again.pb", as_text=as_text)
    content = Path(path).read_bytes()
    if as_text:
        assert content.decode() == str(graph.as_graph_def())
    else:
        assert tf.GraphDef.FromString(content) == graph.as_graph_def()
    assert (folder / "again.pb").read_bytes() == content
    assert sorted(file.name for file in folder.iterdir()) == ["again.pb", "graph.pb"]


@pytest.mark.parametrize("as_text", [True, False])
def test_any_message_is_written(tmp_path: Path, as_text: bool) -> None:
    with tf.Graph().as_default():
        tf.Variable(1.0, name="v")
        saver_def = tf.train.Saver().as_saver_def()
    settings = tf.ConfigProto(allow_soft_placement=True)
    for name, message in (("saver", saver_def), ("settings", settings)):
        path = tf.train.write_graph(message, f"file://{tmp_path}", name, as_text)
        assert path == f"file://{tmp_path}/{name}"
        content = (tmp_path / name).read_bytes()
        if as_text:
            assert content.decode() == str(message)
        else:
            assert type(message).FromString(content) == message


def test_what_can_t_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="graph_or_graph_def must be a"):
        tf.io.write_graph("graph", str(tmp_path), "g.pb")
    (tmp_path / "g.pb").mkdir()
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"g\.pb"):
        tf.io.write_graph(tf.Graph(), str(tmp_path), "g.pb")
    assert [file.name for file in tmp_path.iterdir()] == ["g.pb"]

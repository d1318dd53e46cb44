"""Graphs as files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from google.protobuf import text_format

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
        assert text_format.Parse(content, tf.GraphDef()) == graph.as_graph_def()
    else:
        assert tf.GraphDef.FromString(content) == graph.as_graph_def()
    assert (folder / "again.pb").read_bytes() == content
    assert sorted(file.name for file in folder.iterdir()) == ["again.pb", "graph.pb"]


def test_attrs_are_written_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ["transpose_b", "T", "transpose_a", "data_format", "_class"]
    graph_def = tf.GraphDef()
    for name in names:
        graph_def.node.add(name=name, op="MatMul").attr[name].b = True
        graph_def.node[0].attr[name].b = True
    for as_text, pattern in ((True, rb'key: "(\w+)"'), (False, rb"\n[\x01-\x20](\w+)\x12\x02")):
        path = tf.io.write_graph(graph_def, tmp_path, "graph", as_text)
        written = re.findall(pattern, Path(path).read_bytes())
        assert written[: len(names)] == [name.encode() for name in sorted(names)]


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
            assert content.decode() == str(message).replace("hours: 10000\n", "hours: 10000.0\n")
        else:
            assert type(message).FromString(content) == message


def test_what_can_t_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="graph_or_graph_def must be a"):
        tf.io.write_graph("graph", str(tmp_path), "g.pb")
    (tmp_path / "g.pb").mkdir()
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"g\.pb"):
        tf.io.write_graph(tf.Graph(), str(tmp_path), "g.pb")
    assert [file.name for file in tmp_path.iterdir()] == ["g.pb"]

"""tf.summary adds ops under tags of the name scope, and puts them where `merge_all` looks."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.formats.summary_bytes import summary_values


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _tags(summary):
    with tf.Session() as session:
        return [value.tag for value in summary_values(session.run(summary))]


def test_tags_have_the_scope_and_the_family():
    with tf.name_scope("net"):
        plain = tf.summary.scalar("loss", 1.0)
        again = tf.summary.scalar("loss", 1.0)
        kind = tf.summary.histogram("w", [1.0], family="layers")
    assert _tags(plain) == ["net/loss"]
    assert _tags(again) == ["net/loss_1"]
    assert _tags(kind) == ["layers/net/layers/w"]
    assert kind.op.name == "net/layers/w"
    assert plain.shape.as_list() == []


def test_names_are_cleaned():
    assert _tags(tf.summary.scalar("/a b:0", 1, family="x y")) == ["x_y/x_y/a_b_0"]


def test_merge_all_takes_a_collection():
    assert tf.summary.merge_all() is None
    tf.summary.scalar("a", 1.0)
    tf.summary.image("b", tf.zeros([2, 1, 1, 1]))
    tf.summary.audio("c", tf.zeros([1, 1]), 8.0, collections=["other"])
    with tf.name_scope("s"):
        tf.summary.text("d", tf.constant("*words*"))
    assert _tags(tf.summary.merge_all()) == ["a", "b/image/0", "b/image/1", "s/d"]
    assert _tags(tf.summary.merge_all(scope="s/")) == ["s/d"]
    assert _tags(tf.summary.merge_all("other")) == ["c/audio/0"]
    merged = tf.summary.merge([tf.summary.scalar("e", 1, [])], ["mine"], name="m")
    assert tf.get_collection("mine") == [merged]
    assert merged.op.name == "m/m" and tf.summary.merge_all().op.name.startswith("Merge")
    with pytest.raises(ValueError, match="MergeSummary"):
        tf.summary.merge([])


def test_texts_are_strings():
    with pytest.raises(ValueError, match="Expected tensor Const:0 to have dtype string"):
        tf.summary.text("a", tf.constant(1))


def test_tensor_summaries_say_what_shows_them():
    summary = tf.summary.tensor_summary("t", [1, 2], "why", display_name="T")
    text = tf.summary.text("u", tf.constant("x"))
    plugin = tf.SummaryMetadata(plugin_data={"plugin_name": "p", "content": b"c"})
    own = tf.summary.tensor_summary("v", 1.5, summary_metadata=plugin, summary_description="d")
    with tf.Session() as session:
        first, second, third = (
            tf.Summary.FromString(content).value[0] for content in session.run([summary, text, own])
        )
    assert tf.make_ndarray(first.tensor).tolist() == [1, 2]
    assert (first.metadata.summary_description, first.metadata.display_name) == ("why", "T")
    assert second.metadata.plugin_data.plugin_name == "text"
    assert tf.make_ndarray(second.tensor).item() == b"x"
    assert third.metadata.plugin_data.content == b"c"
    assert third.metadata.summary_description == "d"
    assert plugin.summary_description == ""


def test_descriptions_of_the_first_kind_of_tensor_summaries():
    node = tf.raw_ops.TensorSummary(1.0, description='{"typeHint": "big"}').op.node_def
    assert tf.summary.get_summary_description(node).type_hint == "big"
    with pytest.raises(ValueError, match="Can't get_summary_description on Const"):
        tf.summary.get_summary_description(tf.constant(1).op.node_def)

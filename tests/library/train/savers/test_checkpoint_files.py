"""The state file of a folder, readers, and files that are not checkpoints."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=3),
    st.floats(0, 1e12),
)
def test_states_come_back(tmp_path_factory, paths, stamp):
    folder = str(tmp_path_factory.getbasetemp())
    tf.train.update_checkpoint_state(folder, paths[-1], paths, None, [stamp] * len(paths), stamp)
    again = tf.train.get_checkpoint_state(folder)
    assert list(again.all_model_checkpoint_paths) == [os.path.join(folder, p) for p in paths]
    assert again.model_checkpoint_path == os.path.join(folder, paths[-1])
    assert list(again.all_model_checkpoint_timestamps) == [stamp] * len(paths)
    assert again.last_preserved_timestamp == stamp


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\nmodel_checkpoint_path: 'a' \"b\"",
        'model_checkpoint_path:"\\x61\\142", all_model_checkpoint_paths: ["x", "y"];',
    ],
)
def test_other_forms_of_the_text(tmp_path, text):
    (tmp_path / "checkpoint").write_text(text)
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == str(tmp_path / "ab")


WRONG = ["model_checkpoint_path", 'model_checkpoint_path: "a', "x: 1", "model_checkpoint_path: 3"]
WRONG += ['all_model_checkpoint_paths: ["a"', 'model_checkpoint_path: "\\q"', "last: 1", "\0"]


@pytest.mark.parametrize("text", WRONG)
def test_other_texts_are_no_state(tmp_path, text):
    (tmp_path / "checkpoint").write_text(text)
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


def test_a_state_without_a_checkpoint(tmp_path):
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "gone"))
    assert tf.train.get_checkpoint_state(tmp_path).model_checkpoint_path == str(tmp_path / "gone")
    assert tf.train.latest_checkpoint(tmp_path) is None
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        tf.train.NewCheckpointReader(str(tmp_path / "gone"))
    (tmp_path / "old").write_bytes(b"V1")
    with pytest.raises(tf.errors.DataLossError, match="2 bytes, too few for a table"):
        tf.train.load_checkpoint(str(tmp_path / "old"))


def test_what_a_reader_says(tmp_path):
    tf.get_variable("v", initializer=[[1.5, 2.5]])
    tf.get_variable("text", initializer=b"abc")
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        tf.train.load_checkpoint(tmp_path)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "m"), write_meta_graph=False)
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.has_tensor("v") and not reader.has_tensor("w")
    assert reader.get_variable_to_shape_map() == {"v": [1, 2], "text": []}
    assert reader.get_variable_to_dtype_map() == {"v": tf.float32, "text": tf.string}
    assert reader.get_tensor("text") == b"abc"
    assert tf.train.load_variable(str(tmp_path), "v:0").tolist() == [[1.5, 2.5]]
    assert b"v (DT_FLOAT) [1,2]" in reader.debug_string()
    assert tf.train.get_checkpoint_mtimes([str(tmp_path / "m"), "gone"])[0] > 1e9
    tf.train.remove_checkpoint(str(tmp_path / "m"))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]

"""Assets: copied under safe names, fed when a SavedModel is loaded, and never outside of it."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2
from gpugraph.library.saved_models.model_assets import asset_feeds


def write(folder: pathlib.Path, *paths: pathlib.Path) -> None:
    """A SavedModel whose main op notes the text of its first asset in a variable."""
    with tf.Graph().as_default(), tf.Session() as session:
        names = [tf.constant(str(path)) for path in paths]
        text = tf.Variable("", name="text", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        builder = tf.saved_model.Builder(folder)
        main = tf.assign(text, tf.read_file(names[0]), name="main").op
        builder.add_meta_graph_and_variables(
            session, ["serve"], assets_collection=names, main_op=main
        )
        builder.save()


def loaded(folder: pathlib.Path) -> Any:
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], folder)
        return session.run("text:0")


def test_an_asset_is_copied_and_fed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "words.txt").write_text("old")
    write(tmp_path / "m", tmp_path / "words.txt")
    (tmp_path / "words.txt").write_text("new")
    assert (tmp_path / "m" / "assets" / "words.txt").read_text() == "old"
    (tmp_path / "m").rename(tmp_path / "moved")
    assert loaded(tmp_path / "moved") == b"old"


def test_names_that_meet_get_numbers(tmp_path: pathlib.Path) -> None:
    paths = []
    for number, text in enumerate(("a", "b", "a")):
        (tmp_path / str(number)).mkdir()
        paths.append(tmp_path / str(number) / "words.txt")
        paths[-1].write_text(text)
    write(tmp_path / "m", *paths)
    files = {path.name: path.read_text() for path in (tmp_path / "m" / "assets").iterdir()}
    assert files == {"words.txt": "a", "words.txt_1": "b"}


def test_what_is_no_asset_is_refused(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        builder = tf.saved_model.Builder(tmp_path)
        for tensor, kind, problem in (
            ("words.txt", TypeError, "must be a Tensor"),
            (tf.placeholder(tf.string), TypeError, "must be of type constant"),
            (tf.constant(3), TypeError, "must be of dtype string"),
            (tf.constant(["a", "b"]), TypeError, "must be a scalar"),
            (tf.constant(""), ValueError, "Invalid asset filepath tensor"),
            (tf.constant("/tmp/.."), ValueError, "names no file"),
        ):
            with pytest.raises(kind, match=problem):
                builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=[tensor])


@pytest.mark.parametrize(
    "name", ["../words.txt", "/etc/passwd", "a/../../b", "..", "", "a\\..\\b", "\\a", "a\0b"]
)
def test_names_that_lead_out_of_the_folder_are_refused(name: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "words.txt").write_text("old")
    folder = tmp_path / "m"
    write(folder, tmp_path / "words.txt")
    path = folder / "saved_model.pb"
    saved_model = messages_pb2.SavedModel.FromString(path.read_bytes())
    asset = messages_pb2.AssetFileDef(filename=name)
    asset.tensor_info.name = "Const:0"
    packed = saved_model.meta_graphs[0].collection_def["saved_model_assets"].any_list.value[0]
    packed.value = asset.SerializeToString()
    path.write_bytes(saved_model.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match="relative and without"):
        loaded(folder)


def test_later_fields_and_broken_messages() -> None:
    meta_graph = messages_pb2.MetaGraphDef()
    assert asset_feeds(meta_graph, "m") == {}
    packed = meta_graph.collection_def["saved_model_assets"].any_list.value.add()
    for url, value in (("type.googleapis.com/other", b""), ("x/tensorflow.AssetFileDef", b"\xff")):
        packed.type_url, packed.value = url, value
        with pytest.raises(tf.errors.InvalidArgumentError, match="no AssetFileDef"):
            asset_feeds(meta_graph, "m")
    meta_graph.asset_file_def.add(filename="a.txt").tensor_info.name = "x:0"
    assert asset_feeds(meta_graph, "m", "scope") == {"scope/x:0": "m/assets/a.txt"}

"""Git LFS pointers given to each loader in place of files are named."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.lfs_pointers import pointer_text, pointer_text_of_file
from gpugraph.cli.command_line import main
from gpugraph.formats.variable_files.conversion import VariableFile
from gpugraph.library.datasets.mnist_files import read_data_sets

OID = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 12345\n".encode()
WORDS = r"it is a Git LFS pointer to a file of 12345 bytes: `git lfs pull` fetches the file itself"


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def restored(path):
    tf.Variable(1.0, name="v")
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)


def loaded_model(folder):
    os.mkdir(f"{folder}/model")
    os.rename(f"{folder}/file", f"{folder}/model/saved_model.pb")
    with tf.Session() as session:
        tf.saved_model.load(session, ["serve"], f"{folder}/model")


def loaded_text_model(folder):
    os.mkdir(f"{folder}/model")
    os.rename(f"{folder}/file", f"{folder}/model/saved_model.pbtxt")
    with tf.Session() as session:
        tf.saved_model.load(session, ["serve"], f"{folder}/model")


def restored_index(folder):
    os.rename(f"{folder}/file", f"{folder}/ck.index")
    restored(f"{folder}/ck")


def restored_data(folder):
    """The index is there; the file of the values is a pointer."""
    variable = tf.Variable(1.0, name="w")
    with tf.Session() as session:
        session.run(variable.initializer)
        tf.train.Saver().save(session, f"{folder}/ck")
    os.rename(f"{folder}/file", f"{folder}/ck.data-00000-of-00001")
    tf.train.load_variable(f"{folder}/ck", "w")


def read_records(folder):
    queue = tf.train.string_input_producer([f"{folder}/file"], num_epochs=1)
    _, record = tf.TFRecordReader().read(queue)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(session)
        try:
            session.run(record)
        finally:
            session.close()
            for thread in threads:
                thread.join(10)


def image(decode):
    def run(folder):
        with tf.Session() as session:
            session.run(decode(tf.read_file(f"{folder}/file")))

    return run


def table(folder):
    """A pointer would be a vocabulary of three words."""
    words = tf.contrib.lookup.index_table_from_file(f"{folder}/file")
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        session.run(words.size())


def mnist(ending):
    def read(folder):
        for kind in ("train", "t10k"):
            for part in ("images-idx3", "labels-idx1"):
                Path(f"{folder}/{kind}-{part}-ubyte{ending}").write_bytes(POINTER)
        read_data_sets(folder)

    return read


def array_file(ending):
    def read(folder):
        os.rename(f"{folder}/file", f"{folder}/file{ending}")
        VariableFile(f"{folder}/file{ending}")

    return read


LOADERS = {
    "restore": lambda folder: restored(f"{folder}/file"),
    "restore, index": restored_index,
    "load_variable, data": restored_data,
    "list_variables": lambda folder: tf.train.list_variables(f"{folder}/file"),
    "import_meta_graph": lambda folder: tf.train.import_meta_graph(f"{folder}/file"),
    "saved_model.load": loaded_model,
    "saved_model.load, text": loaded_text_model,
    "GraphDef": lambda folder: tf.GraphDef.FromString(POINTER),
    "GraphDef, in place": lambda folder: tf.GraphDef().ParseFromString(POINTER),
    "MetaGraphDef": lambda folder: tf.MetaGraphDef.FromString(POINTER),
    "tf_record_iterator": lambda folder: list(tf.python_io.tf_record_iterator(f"{folder}/file")),
    "gzip": lambda folder: list(
        tf.python_io.tf_record_iterator(
            f"{folder}/file",
            tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP),
        )
    ),
    "TFRecordReader": read_records,
    "summary_iterator": lambda folder: list(tf.train.summary_iterator(f"{folder}/file")),
    "decode_png": image(tf.image.decode_png),
    "decode_bmp": image(tf.image.decode_bmp),
    "decode_image": image(tf.image.decode_image),
    "npz": array_file(".npz"),
    "safetensors": array_file(".safetensors"),
    "index_table_from_file": table,
    "read_data_sets": mnist(""),
    "read_data_sets, gzip": mnist(".gz"),
    "model_from_json": lambda folder: tf.keras.models.model_from_json(POINTER.decode()),
}


@pytest.mark.parametrize("loader", LOADERS)
def test_loaders_name_a_pointer(loader, tmp_path):
    (tmp_path / "file").write_bytes(POINTER)
    with pytest.raises(Exception, match=WORDS) as raised:
        LOADERS[loader](str(tmp_path))
    assert str(raised.value).count("Git LFS") == 1


def test_hdf5_files(tmp_path):
    pytest.importorskip("h5py", reason="HDF5 files need h5py")
    (tmp_path / "m.h5").write_bytes(POINTER)
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    for load in (tf.keras.models.load_model, model.load_weights):
        with pytest.raises(OSError, match=WORDS):
            load(str(tmp_path / "m.h5"))


def test_show_names_it(tmp_path, capsys):
    (tmp_path / "graph.pb").write_bytes(POINTER)
    assert main(["show", str(tmp_path / "graph.pb")]) != 0
    assert "Git LFS pointer" in "".join(capsys.readouterr())


def test_the_list_of_checkpoints_is_reported(tmp_path, caplog):
    (tmp_path / "checkpoint").write_bytes(POINTER)
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert "Git LFS pointer" in caplog.text


def test_other_bytes_are_none(tmp_path):
    for content in (b"", b"version 1", gzip.compress(b"a"), np.zeros(9).tobytes()):
        assert pointer_text(content) == ""
    assert pointer_text_of_file(tmp_path) == pointer_text_of_file(tmp_path / "none") == ""
    assert pointer_text(memoryview(POINTER)) and pointer_text(bytearray(POINTER))
    assert "to a file:" in pointer_text(POINTER.partition(b"size")[0])


def test_messages_are_parsed_as_before():
    graph_def = tf.GraphDef()
    graph_def.node.add(name="a", op="NoOp")
    content = graph_def.SerializeToString()
    assert tf.GraphDef.FromString(content) == graph_def
    other = tf.GraphDef()
    assert other.ParseFromString(content) == len(content) and other == graph_def

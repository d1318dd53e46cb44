"""Each reader of files, given a folder, a pipe that nobody writes to, or a device without end.

A child process reads, under a limit of memory; SIGALRM ends a read that does not return.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.cli import main
from gpugraph.formats.variable_files.conversion import convert_variables

ROOT = Path(__file__).resolve().parents[2]
REFUSALS = (tf.errors.OpError, OSError, ValueError)
"""OSError: from Keras and h5py for files that can't be opened; ValueError: from Saver.restore."""

SECONDS = 20
MEMORY = 3 << 30

CHILD = """
import sys
from tests.platform.test_paths_without_end import read_all
read_all(sys.argv[1], sys.argv[2])
"""


def fetch(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        fetched = make()
        session.run(tf.tables_initializer())
        return session.run(fetched)


def record_of(reader: Any, path: str) -> Any:
    """Return the first record of a reader, whose queue holds the path alone."""

    def make() -> Any:
        queue = tf.FIFOQueue(1, tf.string)
        with tf.control_dependencies([queue.enqueue([path])]):
            closed = queue.close()
        with tf.control_dependencies([closed]):
            return reader.read(queue)

    return fetch(make)


def link(folder: Path, name: str, path: str) -> Path:
    """Return a path of that name in a new folder, which leads to `path`."""
    folder.mkdir()
    (folder / name).symlink_to(path)
    return folder / name


def bad_data(folder: Path, path: str) -> str:
    """Return the prefix of a checkpoint whose data file is a link to `path`."""
    prefix = str(folder / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.get_variable("v", [300], initializer=tf.ones_initializer()).initializer)
        tf.train.Saver().save(session, prefix)
    data = folder / "model.data-00000-of-00001"
    data.unlink()
    data.symlink_to(path)
    return prefix


def restore(prefix: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [300])
        tf.train.Saver().restore(session, prefix)


def command(*arguments: str) -> None:
    if main(list(arguments)):
        raise ValueError("refused")


def load(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(folder))


def sampler(path: str) -> Any:
    return tf.nn.fixed_unigram_candidate_sampler(
        tf.constant([[1]], tf.int64), 1, 1, True, 3, vocab_file=path
    )


def table(path: str) -> Any:
    initializer = tf.lookup.TextFileInitializer(
        path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, -1
    )
    return tf.lookup.StaticHashTable(initializer, -1).size()


def readers(folder: Path, path: str) -> dict[str, Callable[[], Any]]:
    """Return functions that read the file of a path, or one of a fixed name or suffix that links to
    it.
    """
    linked = {
        name: link(folder / f"at_{name}", name, path)
        for name in ("x.index", "checkpoint", "saved_model.pb", "x.h5", "x.npz", "x.safetensors")
    }
    index = str(linked["x.index"]).removesuffix(".index")
    data = bad_data(folder, path)
    model = linked["saved_model.pb"].parent
    return {
        "GFile.read": lambda: tf.gfile.GFile(path).read(),
        "GFile.readline": lambda: tf.gfile.GFile(path).readline(),
        "GFile lines": lambda: list(tf.gfile.FastGFile(path)),
        "io.gfile": lambda: tf.io.gfile.GFile(path, "rb").read(),
        "Copy": lambda: tf.gfile.Copy(path, str(folder / "copy")),
        "read_file": lambda: fetch(lambda: tf.read_file(path)),
        "WholeFileReader": lambda: record_of(tf.WholeFileReader(), path),
        "TextLineReader": lambda: record_of(tf.TextLineReader(), path),
        "TFRecordReader": lambda: record_of(tf.TFRecordReader(), path),
        "FixedLengthRecordReader": lambda: record_of(tf.FixedLengthRecordReader(3), path),
        "tf_record_iterator": lambda: list(tf.python_io.tf_record_iterator(path)),
        "gzip records": lambda: list(
            tf.python_io.tf_record_iterator(path, tf.python_io.TFRecordOptions("GZIP"))
        ),
        "summary_iterator": lambda: list(tf.train.summary_iterator(path)),
        "checkpoint index": lambda: tf.train.NewCheckpointReader(index),
        "checkpoint data": lambda: tf.train.NewCheckpointReader(data).get_tensor("v"),
        "restore": lambda: restore(data),
        "restore index": lambda: restore(index),
        "import_meta_graph": lambda: tf.train.import_meta_graph(path),
        "saved_model.load": lambda: load(model),
        "table": lambda: fetch(lambda: table(path)),
        "sampler": lambda: fetch(lambda: sampler(path)),
        "vocabularies": lambda: fetch(
            lambda: tf.raw_ops.GenerateVocabRemapping(
                new_vocab_file=path, old_vocab_file=path, new_vocab_offset=0, num_new_vocab=2
            )
        ),
        "load_model": lambda: tf.keras.models.load_model(str(linked["x.h5"])),
        "HDF5Matrix": lambda: tf.keras.utils.HDF5Matrix(str(linked["x.h5"]), "x"),
        "npz": lambda: convert_variables(str(linked["x.npz"]), str(folder / "y.npz")),
        "safetensors": lambda: convert_variables(
            str(linked["x.safetensors"]), str(folder / "y.npz")
        ),
        "convert": lambda: command("convert", index, str(folder / "y.npz")),
        "show": lambda: command("show", path),
    }


def read_all(folder: str, path: str) -> None:
    """Run each reader, and print its name before and its outcome after."""
    tf.logging.set_verbosity("FATAL")
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, read in readers(Path(folder), path).items():
        print(name, end=": ", flush=True)
        signal.alarm(SECONDS)
        try:
            print(f"read {read()!r:.40}", flush=True)
        except REFUSALS as error:
            print(f"refused {type(error).__name__}", flush=True)
        signal.alarm(0)


@pytest.mark.parametrize("kind", ["folder", "pipe", "/dev/zero"])
def test_readers_refuse_what_has_no_end(tmp_path: Path, kind: str) -> None:
    path, folder = str(tmp_path / kind.replace("/", "_")), tmp_path / "files"
    folder.mkdir()
    if kind == "folder":
        os.mkdir(path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = kind
    command = [sys.executable, "-c", CHILD, str(folder), path]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = child.stdout.splitlines()
    assert child.returncode == 0, f"{lines[-1:]} did not return: {child.stderr[-2000:]}"
    assert len(lines) == 28
    assert [line for line in lines if ": refused" not in line] == []


def test_a_device_gives_as_many_bytes_as_asked_for() -> None:
    with tf.gfile.GFile("/dev/zero", "rb") as file:
        assert file.read(3) == bytes(3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="/dev/zero; Illegal seek"):
            file.read()
    with tf.gfile.GFile("/dev/null") as file:
        assert file.read() == ""

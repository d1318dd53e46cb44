"""Error classes of refused writes, and writers whose files exceed a size limit."""

from __future__ import annotations

import errno
import importlib.util
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.whole_files import system_errors
from gpugraph.formats.variable_files.conversion import convert_variables

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 5000
"""Bytes that a file may have in the child."""

HAS_HDF5 = importlib.util.find_spec("h5py") is not None

CHILD = """
import sys
from tests.base.test_whole_files import write_all
write_all(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("EFBIG", tf.errors.OutOfRangeError), ("EDQUOT", tf.errors.ResourceExhaustedError)),
        *(("ENOSPC", tf.errors.ResourceExhaustedError), ("ESPIPE", tf.errors.InvalidArgumentError)),
        *(("ESTALE", tf.errors.AbortedError), ("EXDEV", tf.errors.UnimplementedError)),
        *(("EAGAIN", tf.errors.UnavailableError), ("EIO", tf.errors.UnknownError)),
        *(("ETIMEDOUT", tf.errors.DeadlineExceededError), ("ELOOP", tf.errors.UnknownError)),
        *(("ENODEV", tf.errors.NotFoundError), ("ECANCELED", tf.errors.CancelledError)),
    ],
)
def test_errors_have_the_classes_of_tensorflow(name: str, kind: type[Exception]) -> None:
    number = getattr(errno, name)
    with pytest.raises(kind, match=f"^a/b; {os.strerror(number)}") as raised, system_errors("a/b"):
        raise OSError(number, os.strerror(number))
    assert type(raised.value) is kind


def writers(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the writers, each of which writes more than LIMIT bytes into one file."""
    large = np.random.default_rng(0).standard_normal(4000).astype(np.float32)
    text = "x" * 3 * LIMIT
    record = large.tobytes()

    def session_of(make: Callable[[], Any]) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            made = make()
            session.run(tf.global_variables_initializer())
            return made(session)

    def variable() -> Any:
        return tf.get_variable("v", initializer=large)

    def saver() -> Any:
        variable()
        saver = tf.train.Saver()
        return lambda session: saver.save(session, str(folder / "saved"), write_meta_graph=False)

    def object_checkpoint() -> Any:
        checkpoint = tf.train.Checkpoint(v=variable())
        return lambda session: checkpoint.save(str(folder / "objects"), session)

    def meta_graph() -> Any:
        tf.constant(large)
        return lambda _: tf.train.export_meta_graph(str(folder / "graph.meta"))

    def saved_model() -> Any:
        y = tf.constant(large) * 2
        return lambda session: tf.saved_model.simple_save(
            session, str(folder / "model"), {"y": y}, {"y": y}
        )

    def events() -> None:
        with tf.summary.FileWriter(str(folder / "events")) as writer:
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag=text)]), 1)

    def records(options: Any) -> None:
        with tf.python_io.TFRecordWriter(str(folder / "records"), options) as writer:
            writer.write(record)

    def lines() -> None:
        with tf.gfile.GFile(str(folder / "lines"), "w") as file:
            file.write(text)

    def weights(name: str) -> None:
        layer = tf.keras.layers.Dense(40, input_shape=(100,))
        tf.keras.Sequential([layer]).save_weights(str(folder / name))

    def of_graph() -> Any:
        tf.constant(large)
        return lambda session: tf.train.write_graph(session.graph, str(folder), "graph.pb")

    source = str(folder / "source.npz")
    np.savez_compressed(source, x=np.zeros(4000), y=large[:400])
    return {
        "Saver": lambda: session_of(saver),
        "Checkpoint": lambda: session_of(object_checkpoint),
        "export_meta_graph": lambda: session_of(meta_graph),
        "write_graph": lambda: session_of(of_graph),
        "simple_save": lambda: session_of(saved_model),
        "write_file": lambda: session_of(
            lambda: lambda session: session.run(tf.write_file(str(folder / "w"), text))
        ),
        "FileWriter": events,
        "TFRecordWriter": lambda: records(None),
        "TFRecordWriter, gzip": lambda: records("GZIP"),
        "GFile": lines,
        "save_weights": lambda: weights("weights"),
        **({"save_weights, HDF5": lambda: weights("weights.h5")} if HAS_HDF5 else {}),
        "npz": lambda: convert_variables(source, str(folder / "y.npz")),
        "safetensors": lambda: convert_variables(source, str(folder / "y.safetensors")),
        "convert to a checkpoint": lambda: convert_variables(source, str(folder / "converted")),
        "Copy": lambda: tf.gfile.Copy(str(folder / "large"), str(folder / "copy")),
    }


def write_all(folder: str) -> None:
    """Run each writer, and print its outcome and the files that are left."""
    tf.logging.set_verbosity("FATAL")
    (Path(folder) / "large").write_bytes(bytes(3 * LIMIT))
    made = writers(Path(folder))
    sys.dont_write_bytecode = True  # Python would leave modules that are cut off
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    for name, write in made.items():
        try:
            write()
        except Exception as error:  # the test is about these errors
            message = str(getattr(error, "message", error)).splitlines()[0]
            print(f"{name}: {type(error).__name__}: {message}", flush=True)
        else:
            print(f"{name}: written", flush=True)
    print("left:", [path.name for path in Path(folder).rglob("*.tempstate*")])


def test_writers_beyond_a_limit_of_file_sizes(tmp_path: Path) -> None:
    """An OutOfRangeError of each, as TensorFlow has for EFBIG; no temporary file stays."""
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    *lines, left = done.stdout.splitlines()
    assert len(lines) == 15 + HAS_HDF5
    wrong = [line for line in lines if ": OutOfRangeError: " not in line or "too large" not in line]
    assert wrong == []
    assert left == "left: []"

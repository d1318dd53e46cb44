"""Untrusted HDF5 files: damaged files on which libhdf5 loops or crashes, and files that h5py
refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpugraph as tf
from gpugraph.library.keras.saving import hdf5_groups

h5py = pytest.importorskip("h5py")
ROOT = Path(__file__).resolve().parents[3]
LOADED = """
import sys
import gpugraph as tf
try:
    tf.keras.models.load_model(sys.argv[1])
except (OSError, ValueError) as error:
    print("refused:", error)
"""


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return a file of a model with its training, as another process has left it."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    model.compile("adam", "mse")
    path = tmp_path / "model.h5"
    model.save(path)
    os.utime(path, (1, 1))
    return path


def without_first_heap_object(content: bytes) -> bytes:
    """Return the file with a heap object of no bytes, over which libhdf5 1.14 steps for ever."""
    header = content.index(b"GCOL") + 16
    return content[:header] + bytes(16) + content[header + 16 :]


def test_a_file_on_which_the_library_loops_is_refused(saved: Path) -> None:
    saved.write_bytes(without_first_heap_object(saved.read_bytes()))
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(saved)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.startswith(f"refused: Unable to open file {saved} as HDF5: "), done.stderr
    assert done.returncode == 0


def test_a_file_is_checked_once_and_one_of_this_process_never(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    check = hdf5_groups._check_structure

    def counted(path: str, size: int) -> None:
        checked.append(path)
        check(path, size)

    monkeypatch.setattr(hdf5_groups, "_check_structure", counted)
    for _ in range(2):
        tf.keras.models.load_model(saved)
    assert checked == [str(saved)]
    tf.keras.models.load_model(saved).save(saved)
    tf.keras.models.load_model(saved)
    assert checked == [str(saved)]
    saved.write_bytes(saved.read_bytes())
    tf.keras.models.load_model(saved)
    assert checked == [str(saved)] * 2


@pytest.mark.parametrize("error", [RuntimeError, KeyError, OSError, TypeError])
@pytest.mark.parametrize("name", ["model_config", "layer_names", "weight_names"])
def test_errors_of_h5py_become_value_errors(
    saved: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: type[Exception]
) -> None:
    read = h5py.AttributeManager.__getitem__

    def damaged(attributes: object, key: str) -> object:
        if key == name:
            raise error("Unable to open object (bad heap)")
        return read(attributes, key)

    monkeypatch.setattr(h5py.AttributeManager, "__getitem__", damaged)
    with pytest.raises(ValueError, match=rf"'{name}' can't be read: Unable to open object \(bad"):
        tf.keras.models.load_model(saved)

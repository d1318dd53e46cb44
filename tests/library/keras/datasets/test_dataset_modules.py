"""`tf.keras.datasets` reads the files of ~/.keras/datasets, and runs no code of a file."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

RANDOM = np.random.RandomState(0)


def texts(*lengths: int) -> Any:
    result = np.empty(len(lengths), object)
    result[:] = [list(range(1, length + 1)) for length in lengths]
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    result = tmp_path / ".keras" / "datasets"
    result.mkdir(parents=True)
    return result


def test_digits_and_clothes(folder: Path) -> None:
    images = RANDOM.randint(0, 255, (7, 28, 28)).astype(np.uint8)
    labels = np.arange(7, dtype=np.uint8)
    np.savez(
        folder / "mnist.npz",
        x_train=images[:5],
        y_train=labels[:5],
        x_test=images[5:],
        y_test=labels[5:],
    )
    (x, y), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
    np.testing.assert_array_equal(np.concatenate([x, x_test]), images)
    np.testing.assert_array_equal(np.concatenate([y, y_test]), labels)
    (folder / "fashion-mnist").mkdir()
    for part in ("train", "t10k"):
        for name, data in (
            ("labels-idx1", b"\0" * 8 + labels.tobytes()),
            ("images-idx3", b"\0" * 16 + images.tobytes()),
        ):
            with gzip.open(folder / "fashion-mnist" / f"{part}-{name}-ubyte.gz", "wb") as file:
                file.write(data)
    (x, y), _ = tf.keras.datasets.fashion_mnist.load_data()
    np.testing.assert_array_equal(x, images)
    np.testing.assert_array_equal(y, labels)


def test_pictures(folder: Path) -> None:
    def batch(path: Path, count: int, *keys: bytes) -> None:
        data = RANDOM.randint(0, 255, (count, 3072)).astype(np.uint8)
        labels = {key: list(range(count)) for key in keys}
        path.write_bytes(pickle.dumps({b"data": data, **labels}, protocol=2))

    small, large = folder / "cifar-10-batches-py", folder / "cifar-100-python"
    small.mkdir(), large.mkdir()
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        batch(small / name, 2, b"labels")
    for name in ("train", "test"):
        batch(large / name, 3, b"fine_labels", b"coarse_labels")
    (x, y), (x_test, y_test) = tf.keras.datasets.cifar10.load_data()
    assert (x.shape, x.dtype, y.shape) == ((10, 32, 32, 3), np.uint8, (10, 1))
    assert (x_test.shape, y_test[:, 0].tolist()) == ((2, 32, 32, 3), [0, 1])
    (x, y), _ = tf.keras.datasets.cifar100.load_data("coarse")
    assert (x.shape, y[:, 0].tolist()) == ((3, 32, 32, 3), [0, 1, 2])
    with pytest.raises(ValueError, match="must be one of"):
        tf.keras.datasets.cifar100.load_data("all")


def test_texts(folder: Path) -> None:
    x, y = texts(3, 2, 1, 4), np.array([0, 1, 1, 0])
    np.savez(folder / "imdb.npz", x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])
    (train, labels), (test, _) = tf.keras.datasets.imdb.load_data(num_words=6, skip_top=2)
    assert sorted(map(tuple, train)) == [(2, 4), (2, 4, 5), (2, 4, 5, 2), (2, 4, 5, 2, 2)]
    assert [label for text, label in zip(train, labels) if len(text) == 5] == [0]
    assert len(test) == 2
    np.savez(folder / "reuters.npz", x=x, y=y)
    (train, _), (test, _) = tf.keras.datasets.reuters.load_data(
        test_split=0.5, start_char=None, oov_char=None, index_from=0, num_words=3
    )
    assert {tuple(text) for text in (*train, *test)} == {(1, 2), (1,)}
    with pytest.raises(ValueError, match="no sequence was kept"):
        tf.keras.datasets.reuters.load_data(maxlen=1)
    with pytest.raises(TypeError, match="Unrecognized keyword arguments"):
        tf.keras.datasets.imdb.load_data(words=3)
    (folder / "imdb_word_index.json").write_text(json.dumps({"film": 1}))
    assert tf.keras.datasets.imdb.get_word_index() == {"film": 1}


def test_houses(folder: Path) -> None:
    np.savez(folder / "boston_housing.npz", x=RANDOM.rand(10, 13), y=np.arange(10.0))
    (x, y), (x_test, y_test) = tf.keras.datasets.boston_housing.load_data()
    assert (x.shape, x_test.shape) == ((8, 13), (2, 13))
    np.random.seed(113)
    order = np.arange(10)
    np.random.shuffle(order)
    np.testing.assert_array_equal(np.concatenate([y, y_test]), order)


def test_missing_files_and_code(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"Put the file at .*cifar-10-batches-py.tar.gz"):
        tf.keras.datasets.cifar10.load_data()
    bad = np.empty(1, object)
    bad[:] = [subprocess.run]
    np.savez(folder / "reuters.npz", x=bad, y=np.arange(1))
    with pytest.raises(pickle.UnpicklingError, match="its code is not run"):
        tf.keras.datasets.reuters.load_data()

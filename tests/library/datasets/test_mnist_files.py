"""MNIST's files: small ones of the same format, batches, and refused files."""

from __future__ import annotations

import gzip
import importlib
import struct
import tracemalloc

import numpy as np
import pytest

import gpugraph as tf

COUNTS = {"train": 20, "t10k": 6}


@pytest.fixture
def mnist():
    with tf.as_tensorflow():
        yield importlib.import_module("tensorflow.examples.tutorials.mnist.input_data")


def pixels(part):
    return np.random.default_rng(len(part)).integers(0, 256, (COUNTS[part], 3, 2), np.uint8)


def digits(part):
    return (np.arange(COUNTS[part]) % 10).astype(np.uint8)


def write(folder, name, array, magic, opener):
    with opener(folder / name, "wb") as file:
        file.write(struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.tobytes())


@pytest.fixture(params=[True, False])
def folder(request, tmp_path):
    opener, end = (gzip.open, ".gz") if request.param else (open, "")
    for part in COUNTS:
        write(tmp_path, f"{part}-images-idx3-ubyte{end}", pixels(part), 2051, opener)
        write(tmp_path, f"{part}-labels-idx1-ubyte{end}", digits(part), 2049, opener)
    return tmp_path


def test_parts_and_their_values(mnist, folder):
    data = mnist.read_data_sets(str(folder), one_hot=True, validation_size=5)
    assert [part.num_examples for part in data] == [15, 5, 6]
    images = pixels("train").reshape(20, 6) / np.float32(255)
    np.testing.assert_allclose(data.train.images, images[5:], rtol=1e-6)
    np.testing.assert_allclose(data.validation.images, images[:5], rtol=1e-6)
    assert data.train.images.dtype == np.float32
    np.testing.assert_array_equal(data.test.labels, np.eye(10)[digits("t10k")])


def test_other_forms(mnist, folder):
    data = mnist.read_data_sets(folder, dtype=tf.uint8, reshape=False, validation_size=0)
    np.testing.assert_array_equal(data.train.images[..., 0], pixels("train"))
    np.testing.assert_array_equal(data.train.labels, digits("train"))
    assert data.validation.num_examples == 0


def test_each_epoch_has_all_images_in_an_order_of_its_own(mnist, folder):
    options = {"validation_size": 0, "dtype": tf.uint8, "seed": 3}
    train = mnist.read_data_sets(folder, **options).train
    images = {row.tobytes(): label for row, label in zip(pixels("train"), digits("train"))}
    orders = []
    for epoch in range(2):
        batches = [train.next_batch(5) for _ in range(4)]
        for rows, labels in batches:
            assert [images[row.tobytes()] for row in rows] == list(labels)
        orders.append([row.tobytes() for rows, _ in batches for row in rows])
        assert sorted(orders[-1]) == sorted(images)
        assert train.epochs_completed == epoch
    assert orders[0] != orders[1]
    rows, _ = mnist.read_data_sets(folder, **options).train.next_batch(5)
    assert [row.tobytes() for row in rows] == orders[0][:5]


def test_batches_across_an_epoch_and_without_shuffling(mnist, folder):
    test = mnist.read_data_sets(folder, dtype=tf.uint8, validation_size=0).test
    labels = [list(test.next_batch(4, shuffle=False)[1]) for _ in range(3)]
    assert labels == [[0, 1, 2, 3], [4, 5, 0, 1], [2, 3, 4, 5]]
    assert test.epochs_completed == 1


def test_fake_data(mnist):
    data = mnist.read_data_sets("nowhere", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(3, fake_data=True)
    assert np.shape(images) == (3, 784) and np.sum(labels, 1).tolist() == [1, 1, 1]
    assert data.test.num_examples == 10000


def test_what_is_not_there_is_named(mnist, folder):
    for path in folder.glob("t10k-*"):
        path.unlink()
    with pytest.raises(tf.errors.NotFoundError) as refusal:
        mnist.read_data_sets(str(folder))
    message = str(refusal.value)
    assert "t10k-images-idx3-ubyte.gz" in message and "t10k-labels-idx1-ubyte.gz" in message
    assert "train-images" not in message and str(folder) in message


def test_files_and_sizes_that_do_not_fit(mnist, folder, tmp_path_factory):
    with pytest.raises(ValueError, match=r"should be between 0 and 20\. Received: 21"):
        mnist.read_data_sets(folder, validation_size=21)
    with pytest.raises(TypeError, match="Invalid image dtype"):
        mnist.read_data_sets(folder, dtype=tf.int32, validation_size=0)
    other = tmp_path_factory.mktemp("other")
    write(other, "a.gz", digits("train"), 7, gzip.open)
    with (other / "a.gz").open("rb") as file:
        with pytest.raises(ValueError, match=r"magic number 7 in MNIST image file: .*a\.gz"):
            mnist.extract_images(file)
    write(other, "b.gz", digits("train"), 2049, gzip.open)
    with (other / "b.gz").open("rb") as file:
        np.testing.assert_array_equal(mnist.extract_labels(file), digits("train"))


def test_the_same_module_by_its_path_in_contrib(mnist):
    of_learn = importlib.import_module("tensorflow.contrib.learn.python.learn.datasets.mnist")
    assert of_learn.read_data_sets is mnist.read_data_sets


def test_no_more_is_unpacked_than_the_sizes_declare(mnist, tmp_path):
    bomb = gzip.compress(struct.pack(">2I", 2049, 3) + bytes(100_000_000), 9)
    for name in ("train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
        (tmp_path / name).write_bytes(bomb)
    for part, name in (("train", "train-images-idx3-ubyte"), ("t10k", "t10k-images-idx3-ubyte")):
        write(tmp_path, name, pixels(part), 2051, open)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"has over 3 bytes for sizes \(3,\)"):
        mnist.read_data_sets(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


def test_sizes_that_no_memory_has(mnist, tmp_path):
    with gzip.open(tmp_path / "images", "wb") as file:
        file.write(struct.pack(">4I", 2051, *[2**32 - 1] * 3) + bytes(10))
    with open(tmp_path / "images", "rb") as file, pytest.raises(ValueError, match="has 10 bytes"):
        mnist.extract_images(file)
    with gzip.open(tmp_path / "images", "wb") as file:
        file.write(struct.pack(">2I", 2051, 4))
    with open(tmp_path / "images", "rb") as file, pytest.raises(ValueError, match="is cut off"):
        mnist.extract_images(file)

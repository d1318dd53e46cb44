"""The data sets MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100, which consist of images, and Boston
housing prices.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from gpugraph.library.keras.backend.backend_config import image_data_format
from gpugraph.library.keras.datasets.plain_pickles import load_arrays, load_plain
from gpugraph.library.keras.inputs.cached_files import get_file

Sets = tuple[tuple[Any, Any], tuple[Any, Any]]

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"
_BATCHES = 5


def load_mnist(path: str = "mnist.npz") -> Sets:
    """Return the MNIST data set of handwritten digits as ((x_train, y_train), (x_test, y_test)). x
    is an array of images, uint8 [n, 28, 28], and y is an array of classes.

    Raises FileNotFoundError if the file is missing.

    Args:
      path: the file's name in ~/.keras/datasets, or its path.
    """
    arrays = load_arrays(get_file(path, ORIGIN + "mnist.npz"))
    return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])


def load_fashion_mnist() -> Sets:
    """Return the Fashion-MNIST data set of pictures of clothes as ((x_train, y_train), (x_test,
    y_test)). x is an array of images, uint8 [n, 28, 28], and y is an array of classes.

    Raises FileNotFoundError if a file in ~/.keras/datasets/fashion-mnist is missing.
    """

    def read(name: str, offset: int) -> Any:
        path = get_file(name, ORIGIN + name, cache_subdir="datasets/fashion-mnist")
        with gzip.open(path) as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    sets = []
    for part in ("train", "t10k"):
        labels = read(f"{part}-labels-idx1-ubyte.gz", 8)
        images = read(f"{part}-images-idx3-ubyte.gz", 16)
        sets.append((images.reshape(len(labels), 28, 28), labels))
    return sets[0], sets[1]


def _cifar_batch(path: Path, key: bytes) -> tuple[Any, Any]:
    """Return the images [n, 3, 32, 32] and the classes [n, 1] in a CIFAR file. `key` is the name of
    the classes in the file.
    """
    with path.open("rb") as file:
        batch = load_plain(file, encoding="bytes")
    return batch[b"data"].reshape(-1, 3, 32, 32), np.reshape(batch[key], (-1, 1))


def _in_format(images: Any) -> Any:
    """Transpose images [n, channels, height, width] to the axis order of `image_data_format`."""
    return images.transpose(0, 2, 3, 1) if image_data_format() == "channels_last" else images


def load_cifar10() -> Sets:
    """Return the CIFAR-10 data set of pictures of 10 classes as ((x_train, y_train), (x_test,
    y_test)). x is an array of images, uint8 [n, 32, 32, 3], and y is an array of classes [n, 1].

    Raises FileNotFoundError if the file in ~/.keras/datasets is missing.
    """
    name = "cifar-10-batches-py"
    folder = Path(get_file(name, f"{_CIFAR}cifar-10-python.tar.gz", untar=True))
    batches = [
        _cifar_batch(folder / f"data_batch_{number}", b"labels")
        for number in range(1, _BATCHES + 1)
    ]
    images, labels = (np.concatenate(parts) for parts in zip(*batches))
    test_images, test_labels = _cifar_batch(folder / "test_batch", b"labels")
    train = _in_format(images), labels.astype(np.uint8)
    return train, (_in_format(test_images), test_labels.astype(test_images.dtype))


def load_cifar100(label_mode: str = "fine") -> Sets:
    """Return the CIFAR-100 data set of pictures of 100 classes as ((x_train, y_train), (x_test,
    y_test)). x is an array of images, uint8 [n, 32, 32, 3], and y is an array of classes [n, 1].

    Raises ValueError if `label_mode` is neither "fine" nor "coarse", and FileNotFoundError if the
    file in ~/.keras/datasets is missing.

    Args:
      label_mode: "fine" for 100 classes, or "coarse" for 20.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    name = "cifar-100-python"
    folder = Path(get_file(name, f"{_CIFAR}cifar-100-python.tar.gz", untar=True))
    key = f"{label_mode}_labels".encode()
    train, test = (_cifar_batch(folder / part, key) for part in ("train", "test"))
    return (_in_format(train[0]), train[1]), (_in_format(test[0]), test[1])


def load_boston_housing(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> Sets:
    """Return the Boston housing data set as ((x_train, y_train), (x_test, y_test)). x is an array
    of features of houses [n, 13], and y is an array of their prices.

    Raises FileNotFoundError if the file is missing. This function sets the seed of `np.random`.

    Args:
      path: the file's name in ~/.keras/datasets, or its path.
      test_split: the fraction of the examples that are in the test set.
      seed: the seed with which the examples are shuffled.
    """
    arrays = load_arrays(get_file(path, ORIGIN + "boston_housing.npz"))
    x, y = shuffled(arrays["x"], arrays["y"], seed)
    count = int(len(x) * (1 - test_split))
    return (x[:count], y[:count]), (x[count:], y[count:])


def shuffled(x: Any, y: Any, seed: int | None = None) -> tuple[Any, Any]:
    """Return two arrays whose rows are shuffled in the same way. If `seed` is not None, it becomes
    the seed of `np.random`.
    """
    if seed is not None:
        np.random.seed(seed)
    order = np.arange(len(x))
    np.random.shuffle(order)
    return x[order], y[order]

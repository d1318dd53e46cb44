"""The MNIST digits, read from files: `tensorflow.examples.tutorials.mnist.input_data`.

Nothing is downloaded. The files have the IDX format: a magic number, the sizes as big-endian 32-bit
integers, then the bytes (Yann LeCun et al., "The MNIST database of handwritten digits").
"""

from __future__ import annotations

import gzip
import math
import struct
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import NotFoundError
from gpugraph.base.lfs_pointers import pointer_text_of_file
from gpugraph.base.whole_files import open_to_read
from gpugraph.ops.random.seeds_and_streams import get_seed

SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
"""The address from which TensorFlow downloads the files. It has no effect in this package."""

TRAIN_IMAGES = "train-images-idx3-ubyte.gz"
TRAIN_LABELS = "train-labels-idx1-ubyte.gz"
TEST_IMAGES = "t10k-images-idx3-ubyte.gz"
TEST_LABELS = "t10k-labels-idx1-ubyte.gz"

_FAKE_IMAGE = (1.0,) * 784


class Datasets(NamedTuple):
    """The training, validation and test sets, each a `DataSet`."""

    train: Any
    validation: Any
    test: Any


class DataSet:
    """Images with their labels, which `next_batch` returns in batches, by default in a random
    order.

    The constructor raises TypeError if the dtype is neither uint8 nor float32.

    Args:
      images: uint8 [number, rows, columns, 1].
      labels: [number], or [number, classes] if `one_hot` is true.
      fake_data: whether `images` and `labels` are ignored and num_examples is 10000. The argument
        `fake_data` of `next_batch` then returns images of ones.
      dtype: uint8, or float32, for which images are scaled to [0, 1].
      reshape: whether images are flattened to [number, rows * columns].
      seed: the seed for NumPy's random order. By default, the seed is the graph's seed.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        of_graph, of_op = get_seed(seed)
        np.random.seed(of_graph if seed is None else of_op)
        element = as_dtype(dtype).base_dtype
        if element not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {element!r}, expected uint8 or float32")
        self._fake_data, self._one_hot = fake_data, one_hot
        if fake_data:
            self._num_examples = 10000
        else:
            if len(images) != len(labels):
                raise ValueError(
                    f"images.shape: {images.shape} labels.shape: {labels.shape}: they must be as "
                    "many"
                )
            self._num_examples = len(images)
            if reshape:
                images = images.reshape(len(images), images.shape[1] * images.shape[2])
            if element == dtypes.float32:
                images = images.astype(np.float32) * np.float32(1 / 255)
        self._images, self._labels = images, labels
        self._epochs_completed = self._next = 0

    @property
    def images(self) -> Any:
        """The images, in the order of the current epoch (a pass over all images)."""
        return self._images

    @property
    def labels(self) -> Any:
        """The labels, in the order of `images`."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """The number of images."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """The number of completed passes over all images."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Return (images, labels) of the next batch.

        After the last image, a new epoch begins. If `shuffle` is true, the new epoch has another
        random order.

        Args:
          fake_data: whether to return images of ones, all with the label 0 or its one-hot vector.
        """
        if fake_data:
            label: Any = [1] + [0] * 9 if self._one_hot else 0
            return [_FAKE_IMAGE] * batch_size, [label] * batch_size
        if shuffle and self._epochs_completed == self._next == 0:
            self._shuffle()
        start, stop = self._next, self._next + batch_size
        images, labels = self._images[start:stop], self._labels[start:stop]
        self._next = stop
        if stop > self._num_examples:
            self._epochs_completed += 1
            if shuffle:
                self._shuffle()
            self._next = stop - self._num_examples
            images = np.concatenate([images, self._images[: self._next]])
            labels = np.concatenate([labels, self._labels[: self._next]])
        return images, labels

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Convert labels [number] to float64 [number, num_classes], with 1 at the index of the
    label.
    """
    return np.eye(num_classes)[np.asarray(labels_dense).ravel()]


def extract_images(f: Any) -> Any:
    """Read the images of an open gzipped IDX file: uint8 [number, rows, columns, 1]."""
    return _read(gzip.GzipFile(fileobj=f), 2051, "image", f)[..., None]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> Any:
    """Read the labels of an open gzipped IDX file: uint8 [number].

    If `one_hot` is true, return them as `dense_to_one_hot` does.
    """
    labels = _read(gzip.GzipFile(fileobj=f), 2049, "label", f)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def _read(stream: BufferedIOBase, magic: int, kind: str, file: Any) -> Any:
    """Read the array of an IDX file. Decompress no more bytes than the header of the file declares.

    Raises ValueError if the file does not begin with `magic`, or if it is shorter or longer than
    its header declares.

    Args:
      magic: the number with which the file must begin.
    """
    name = getattr(file, "name", file)
    number = int.from_bytes(stream.read(4), "big")
    if number != magic:
        raise ValueError(f"Invalid magic number {number} in MNIST {kind} file: {name}")
    rank = magic & 0xFF
    header = stream.read(4 * rank)
    if len(header) < 4 * rank:
        raise ValueError(f"MNIST {kind} file {name} is cut off")
    sizes = struct.unpack(f">{rank}I", header)
    declared = math.prod(sizes)
    content = _first_bytes(stream, declared + 1)
    if len(content) != declared:
        count = f"{len(content)}" if len(content) < declared else f"over {declared}"
        raise ValueError(f"MNIST {kind} file {name} has {count} bytes for sizes {sizes}")
    return np.frombuffer(content, np.uint8).reshape(sizes)


def _first_bytes(stream: BufferedIOBase, size: int) -> bytearray:
    """Read at most `size` bytes of `stream`, a chunk at a time.

    The header of a file may declare many more bytes than the file has. Therefore no buffer of
    `size` bytes is allocated in advance.
    """
    content = bytearray()
    while len(content) < size:
        part = stream.read(min(size - len(content), 1 << 20))
        if not part:
            break
        content += part
    return content


def read_data_sets(
    train_dir: Any,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = SOURCE_URL,
) -> Datasets:
    """Return the data sets in the four files of a folder.

    The first `validation_size` training images become the validation set. The files are
    `train-images-idx3-ubyte` and `train-labels-idx1-ubyte`, and two files with `t10k` instead of
    `train`, either plain or gzipped with the suffix `.gz`. For the other arguments, see `DataSet`.

    Raises NotFoundError with the names of missing files, because nothing is downloaded. Raises
    ValueError if `validation_size` exceeds the number of images, or if a file does not begin with
    the magic number of its kind.
    """
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        return Datasets(
            *(DataSet([], [], True, one_hot, dtype, seed=seed) for _ in Datasets._fields)
        )
    images, labels, test_images, test_labels = _all_files(Path(train_dir), one_hot)
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    first, rest = slice(validation_size), slice(validation_size, None)
    train, validation = (DataSet(images[part], labels[part], **options) for part in (rest, first))
    return Datasets(train, validation, DataSet(test_images, test_labels, **options))


def load_mnist(train_dir: Any = "MNIST-data") -> Datasets:
    """Call `read_data_sets` for a folder, by default `MNIST-data`."""
    return read_data_sets(train_dir)


def _all_files(folder: Path, one_hot: bool) -> Iterator[Any]:
    """Yield the four arrays of the files in this order: training images, training labels, test
    images, test labels.
    """
    names = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)
    paths = [_existing(folder, name) for name in names]
    missing = [name for name, path in zip(names, paths) if path is None]
    if missing:
        raise NotFoundError(
            None,
            None,
            f"{', '.join(missing)} (or without .gz): looked for in {str(folder)!r}, not there. "
            "gpugraph downloads nothing: they are MNIST's files in the IDX format, which "
            f"TensorFlow gets from {SOURCE_URL}",
        )
    for name, path in zip(names, paths):
        assert path is not None
        kind, magic = ("image", 2051) if "images" in name else ("label", 2049)
        with open_to_read(path) as file:
            stream: Any = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            if pointer := pointer_text_of_file(path):
                raise ValueError(f"Invalid MNIST {kind} file: {path}{pointer}")
            array = _read(stream, magic, kind, path)
        if kind == "image":
            yield array[..., None]
        else:
            yield dense_to_one_hot(array, 10) if one_hot else array


def _existing(folder: Path, name: str) -> Path | None:
    paths = (folder / name, folder / name.removesuffix(".gz"))
    return next((path for path in paths if path.is_file()), None)

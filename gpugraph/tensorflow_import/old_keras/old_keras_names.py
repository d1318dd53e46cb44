"""Functions of Keras 2.2 that `tf.keras` lacks. Programs with `import keras` find them through
`module_table_of_keras`.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras import backend
from gpugraph.library.keras.saving.weight_groups import read_layers, read_named_layers, write_layers

# -- the order of axes, in the words of Keras 1


def image_dim_ordering() -> str:
    """Return "th" if channels are first in images, and "tf" if they are last."""
    return "th" if backend.image_data_format() == "channels_first" else "tf"


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set the order of the axes of images. Raises ValueError unless it is "th" or "tf"."""
    formats = {"th": "channels_first", "tf": "channels_last"}
    if dim_ordering not in formats:
        raise ValueError(f"Unknown dim_ordering: {dim_ordering}; it is 'th' or 'tf'")
    backend.set_image_data_format(formats[dim_ordering])


# -- tensors


def is_tensor(x: Any) -> bool:
    """Return whether `x` is a tensor."""
    return isinstance(x, Tensor)


def is_variable(x: Any) -> bool:
    """Return whether `x` is a variable."""
    return hasattr(x, "initializer") and hasattr(x, "assign")


def is_placeholder(x: Any) -> bool:
    """Return whether `x` is a placeholder."""
    return isinstance(x, Tensor) and x.op.type.startswith("Placeholder")


# -- utilities


class TFOptimizer:
    """A wrapper of an optimizer of `tf.train`. A model's `compile` also accepts the optimizer
    without a wrapper, so a call of this class returns the optimizer itself.
    """

    def __new__(cls, optimizer: Any) -> Any:
        """Return the optimizer."""
        return optimizer


def ask_to_proceed_with_overwrite(filepath: str) -> bool:
    """Ask on the terminal whether a file may be overwritten, and return the answer."""
    answer = ""
    while answer not in ("y", "n"):
        answer = input(f"[WARNING] {filepath} already exists - overwrite? [y/n] ").strip().lower()
    return answer == "y"


def slice_arrays(arrays: Any, start: Any = None, stop: int | None = None) -> Any:
    """Return the rows [start, stop) of each array. If `start` is a list, return these rows.

    An array that is None stays None.
    """
    rows = slice(start, stop) if not hasattr(start, "__len__") else np.asarray(start)
    if arrays is None:
        return [None]
    if isinstance(arrays, list):
        return [None if array is None else array[rows] for array in arrays]
    return arrays[rows]


def get_test_data(
    num_train: int = 1000,
    num_test: int = 500,
    input_shape: Sequence[int] = (10,),
    output_shape: Sequence[int] = (2,),
    classification: bool = True,
    num_classes: int = 2,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return random data as ((x, y), (x, y)), for training and for tests.

    The inputs of a class are near the number of the class. If `classification` is false, each label
    is a number, and the inputs are near this number.
    """
    count = num_train + num_test
    if classification:
        y: Any = np.random.randint(0, num_classes, size=(count,))
        x = np.random.normal(loc=np.reshape(y, (count, *[1] * len(input_shape))), scale=0.7,
                             size=(count, *input_shape))  # fmt: skip
    else:
        means = np.random.random((count,))
        x = np.random.normal(loc=np.reshape(means, (count, *[1] * len(input_shape))), scale=0.7,
                             size=(count, *input_shape))  # fmt: skip
        y = np.broadcast_to(means.reshape((count, *[1] * len(output_shape))),
                            (count, *output_shape)).astype(x.dtype)  # fmt: skip
    return (x[:num_train], y[:num_train]), (x[num_train:], y[num_train:])


def load_batch(fpath: str, label_key: str = "labels") -> tuple[Any, Any]:
    """Return the images [n, 3, 32, 32] and the labels in a CIFAR file."""
    with open(os.fspath(fpath), "rb") as file:
        batch = pickle.load(file, encoding="latin1")
    return batch["data"].reshape(-1, 3, 32, 32), batch[label_key]


def load_weights_by_name(
    f: Any, layers: Sequence[Any], skip_mismatch: bool = False, reshape: bool = False
) -> None:
    """Set the weights of the layers whose names are in an open HDF5 file.

    Raises NotImplementedError if `reshape` is true.

    Args:
      f: the file, or a group of the file, with the attribute `layer_names`.
      layers: the layers of a model.
      skip_mismatch: whether to leave out layers whose shapes differ.
    """
    if reshape:
        raise NotImplementedError("load_weights_from_hdf5_group_by_name: reshape=True")
    read_named_layers(f, layers, skip_mismatch)


def _same(function: Any) -> Any:
    return function


_LAYERS = """dense dropout embedding pooling1d prelu gaussiannoise recurrent gaussiandropout
    pooling2d pooling3d global_pooling upsampling1d upsampling2d upsampling3d conv1d
    conv2d separable_conv2d deconv2d conv3d convlstm2d batchnorm zeropadding2d
    zeropadding3d cropping2d cropping3d spatialdropout1d spatialdropoutNd lambda
    generator_methods model_constructor input add_weight get_updates"""

INTERFACES = SimpleNamespace(**{f"legacy_{layer}_support": _same for layer in _LAYERS.split()})
"""The decorators of `keras.legacy.interfaces`, which leave functions unchanged."""

of_backend = SimpleNamespace(
    image_dim_ordering=image_dim_ordering,
    set_image_dim_ordering=set_image_dim_ordering,
    is_placeholder=is_placeholder,
    is_tensor=is_tensor,
    is_variable=is_variable,
    symbolic=_same,
    eager=_same,
)
of_utils = SimpleNamespace(
    ask_to_proceed_with_overwrite=ask_to_proceed_with_overwrite,
    get_test_data=get_test_data,
    slice_arrays=slice_arrays,
)
of_saving = SimpleNamespace(
    load_weights_from_hdf5_group=read_layers,
    load_weights_from_hdf5_group_by_name=load_weights_by_name,
    save_weights_to_hdf5_group=write_layers,
)
"""The functions of `keras.engine.saving` for weights in open HDF5 files."""

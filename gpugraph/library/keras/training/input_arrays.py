"""Conversion of a program's data to one array for each input or target, with checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.library.keras.engine.layer_inputs import is_tensor
from gpugraph.library.keras.losses import loss_functions
from gpugraph.library.keras.losses.loss_class import LossFunctionWrapper

Shape = tuple[int | None, ...] | None


def as_array(value: Any) -> Any:
    """Return `value` as an array.

    A memory map, HDF5 dataset, sparse matrix or tensor is returned unchanged.
    """
    if value is None or isinstance(value, np.ndarray) or is_tensor(value):
        return value
    if hasattr(value, "tocoo"):
        return value
    if hasattr(value, "iloc"):
        return value.values
    if hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "__getitem__"):
        return value  # a dataset of an HDF5 file, read batch by batch
    return np.asarray(value)


class DenseRows:
    """A SciPy matrix as data for a dense input. Each row is converted to a NumPy array when it is
    read.
    """

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix.tocsr()
        self.shape, self.dtype = matrix.shape, matrix.dtype

    def __getitem__(self, rows: Any) -> Any:
        return self._matrix[rows].toarray()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return all rows as a new array."""
        del copy
        return np.asarray(self._matrix.toarray(), dtype)


def standardize_arrays(
    data: Any,
    names: Sequence[str],
    shapes: Sequence[Shape],
    prefix: str,
    checks_batch: bool = False,
) -> list[Any]:
    """Return a list with the array for each name. `data` is an array, a list of arrays, or a dict
    from names to arrays.

    Raises ValueError for a wrong number of arrays, for missing names, for arrays with different
    numbers of rows, and for shapes that do not fit. Raises TypeError if several arrays are
    required, but the only value is not an array.

    Args:
      shapes: the shapes of the placeholders. An array with one axis gets a second axis of size 1,
        unless its placeholder has only one axis.
      prefix: "input" or "target", for messages.
      checks_batch: whether the size of the first axis is also checked.
    """
    values = _listed(data, names, prefix)
    arrays = [_array_of(value, name, prefix) for value, name in zip(values, names)]
    fitted = [_with_last_axis(array, shape) for array, shape in zip(arrays, shapes)]
    for array, name, shape in zip(fitted, names, shapes):
        _check_shape(array, name, shape, prefix, checks_batch)
    return fitted


def _array_of(value: Any, name: str, prefix: str) -> Any:
    try:
        return as_array(value)
    except ValueError as error:  # rows of different lengths
        raise ValueError(
            f"Error when checking {prefix}: expected {name} to be an array, but got "
            f"{str(value)[:200]}: {error}"
        ) from error


def _listed(data: Any, names: Sequence[str], prefix: str) -> list[Any]:
    """Return a list with a value for each name. See `standardize_arrays`."""
    if not names:
        if data is not None and np.size(as_array(data) if not isinstance(data, list) else data):
            raise ValueError(
                f"Error when checking model {prefix}: expected no data, but got: {str(data)[:200]}"
            )
        return []
    if data is None:
        return [None] * len(names)
    if isinstance(data, Mapping):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(
                f'No data provided for "{missing[0]}". Need data for each key in: {list(names)}'
            )
        return [data[name] for name in names]
    if isinstance(data, (list, tuple)):
        return _listed_of_list(list(data), names, prefix)
    if len(names) > 1:
        raise _wrong_count([data], names, prefix)
    return [data]


def _listed_of_list(data: list[Any], names: Sequence[str], prefix: str) -> list[Any]:
    is_of_arrays = all(hasattr(part, "shape") for part in data)
    if len(data) == len(names) and (is_of_arrays or np.ndim(data[0]) > 0 or len(names) > 1):
        return data
    if len(names) == 1 and data and not is_of_arrays:
        return [data]
    raise _wrong_count(data, names, prefix)


def _wrong_count(data: list[Any], names: Sequence[str], prefix: str) -> Exception:
    if len(data) == 1 and not hasattr(data[0], "shape"):
        return TypeError(
            f"Error when checking model {prefix}: data should be a Numpy array, or list/dict of "
            f"Numpy arrays. Found: {str(data[0])[:200]}..."
        )
    return ValueError(
        f"Error when checking model {prefix}: the list of Numpy arrays that you are passing to "
        "your model is not the size the model expected. Expected to see "
        f"{len(names)} array(s), for {prefix}s {list(names)}, but instead got the following list "
        f"of {len(data)} arrays: {str(data)[:200]}..."
    )


def _with_last_axis(array: Any, shape: Shape) -> Any:
    if array is None or hasattr(array, "tocoo"):
        return array
    if len(array.shape) == 1 and (shape is None or len(shape) != 1):
        return np.expand_dims(np.asarray(array), -1)
    return array


def _check_shape(array: Any, name: str, shape: Shape, prefix: str, checks_batch: bool) -> None:
    if array is None or shape is None or is_tensor(array):
        return
    actual = tuple(array.shape)
    if len(actual) != len(shape):
        raise ValueError(
            f"Error when checking {prefix}: expected {name} to have {len(shape)} dimensions, but "
            f"got array with shape {actual}"
        )
    first = 0 if checks_batch else 1
    if any(
        size is not None and size != length for size, length in zip(shape[first:], actual[first:])
    ):
        raise ValueError(
            f"Error when checking {prefix}: expected {name} to have shape {shape[first:]} but got "
            f"array with shape {actual[first:]}"
        )


def check_sample_counts(
    inputs: Sequence[Any], targets: Sequence[Any], weights: Sequence[Any]
) -> None:
    """Raise ValueError if inputs, targets or weights differ in their numbers of examples."""
    counts = {}
    for kind, arrays in (("x", inputs), ("y", targets), ("sample_weight", weights)):
        shapes = [array.shape for array in arrays if array is not None]
        counts[kind] = {shape[0] for shape in shapes}
        if len(counts[kind]) > 1:
            name = {"x": "input arrays (x)", "y": "target arrays (y)"}.get(kind, "sample_weight")
            raise ValueError(
                f"All {name} should have the same number of samples. Got array shapes: "
                f"{[tuple(shape) for shape in shapes]}"
            )
    if counts["x"] and counts["y"] and counts["x"] != counts["y"]:
        raise ValueError(
            "Input arrays should have the same number of samples as target arrays. Found "
            f"{min(counts['x'])} input samples and {min(counts['y'])} target samples."
        )
    if counts["y"] and counts["sample_weight"] and counts["y"] != counts["sample_weight"]:
        raise ValueError(
            "Sample_weight arrays should have the same number of samples as target arrays. Got "
            f"{min(counts['sample_weight'])} sample_weight samples and {min(counts['y'])} target "
            "samples."
        )


def check_output_names(argument: Mapping[Any, Any], names: Sequence[str], kind: str) -> None:
    """Raise ValueError if a dict by output has a key that is not an output's name.

    Args:
      kind: the name of the argument whose value is the dict.
    """
    unknown = sorted(set(argument) - set(names), key=str)
    if unknown:
        raise ValueError(
            f"Unknown entries in {kind} dictionary: {unknown}. Only expected following keys: "
            f"{list(names)}"
        )


_SAME_SHAPE = (
    loss_functions.mean_squared_error,
    loss_functions.binary_crossentropy,
    loss_functions.categorical_crossentropy,
)


def check_target(target: Any, loss: Any, shape: Shape) -> None:
    """Raise ValueError for targets that a loss does not accept for outputs of this shape."""
    function = loss.fn if isinstance(loss, LossFunctionWrapper) else loss
    if target is None or shape is None or is_tensor(target):
        return
    actual = tuple(target.shape)
    if function is loss_functions.categorical_crossentropy and actual[-1] == 1:
        raise ValueError(
            f"You are passing a target array of shape {actual} while using as loss "
            "`categorical_crossentropy`. `categorical_crossentropy` expects targets to be binary "
            "matrices (1s and 0s) of shape (samples, classes). If your targets are integer "
            "classes, use the loss `sparse_categorical_crossentropy`, or `to_categorical`."
        )
    if function in _SAME_SHAPE and any(
        size is not None and size != length for length, size in zip(actual[1:], shape[1:])
    ):
        raise ValueError(
            f"A target array with shape {actual} was passed for an output of shape {shape} while "
            f"using as loss `{function.__name__}`. This loss expects targets to have the same "
            "shape as the output."
        )

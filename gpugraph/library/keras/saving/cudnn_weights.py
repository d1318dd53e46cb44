"""Converts recurrent layers' weights in files between the layout of cuDNN and the layout of GRU and
LSTM.

A file may contain weights of a CuDNNLSTM although the model has an LSTM, or the reverse. The same
is true for GRUs. The shapes of the biases show the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class _Conversion(NamedTuple):
    """A conversion of a layer's weights in one direction.

    Args:
      gates: the number of gates. Each gate has a part of the kernels.
      order: the NumPy order ("C" or "F") in which a transposed part is reshaped.
      biases: the function that converts the biases.
    """

    gates: int
    order: Any
    biases: Callable[[Array], Array]


def _conversion(wanted: tuple[int, ...], stored: tuple[int, ...], units: int) -> _Conversion | None:
    """Return the conversion of biases from the shape `stored` to the shape `wanted`. If the shapes
    need no conversion, return None.
    """
    conversions = {
        ((4 * units,), (8 * units,)): _Conversion(
            4, "F", lambda biases: biases.reshape(2, -1).sum(0)
        ),
        ((8 * units,), (4 * units,)): _Conversion(4, "C", lambda biases: np.tile(biases / 2, 2)),
        ((2, 3 * units), (6 * units,)): _Conversion(3, "F", lambda biases: biases.reshape(2, -1)),
        ((6 * units,), (2, 3 * units)): _Conversion(3, "C", lambda biases: biases.reshape(-1)),
    }
    return conversions.get((wanted, stored))


class ConvertedArray:
    """A stored array that is converted when it is read. The object has a name, a shape and
    `value()`.
    """

    def __init__(self, array: Any, shape: tuple[int, ...], convert: Callable[[Array], Array]):
        self.name, self.shape = array.name, shape
        self._array, self._convert = array, convert

    def value(self) -> Array:
        """Read the array, and return it converted."""
        return self._convert(self._array.value())


def converted(layer: Any, weights: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Return the arrays for a layer's weights. The weights of recurrent layers in the layer are
    converted to their layouts.

    Args:
      weights: the layer's variables.
      arrays: the stored array for each variable.
    """
    result = list(arrays)
    if len(weights) != len(arrays):
        return result
    places = {id(weight): place for place, weight in enumerate(weights)}
    for recurrent in _recurrent_layers(layer):
        indices = [places[id(weight)] for weight in recurrent.weights if id(weight) in places]
        if len(indices) == 3:
            _convert([weights[place] for place in indices], indices, result)
    return result


def _recurrent_layers(layer: Any) -> list[Any]:
    """Return a list of the LSTMs and GRUs in a layer, or of the layer itself if it is an LSTM or
    GRU.
    """
    if type(layer).__name__ in ("LSTM", "GRU", "CuDNNLSTM", "CuDNNGRU"):
        return [layer]
    return [inner for part in layer.sublayers() for inner in _recurrent_layers(part)]


def _convert(weights: Sequence[Any], places: Sequence[int], arrays: list[Any]) -> None:
    """If a conversion is necessary, replace the kernel, recurrent kernel and biases of one layer in
    `arrays`.

    Args:
      weights: the three variables.
      places: the indices of the three arrays.
    """
    kernel, recurrent, biases = (arrays[place] for place in places)
    shape = tuple(weights[2].shape.as_list())
    conversion = (
        _conversion(shape, tuple(biases.shape), recurrent.shape[0]) if recurrent.shape else None
    )
    if conversion is None:
        return
    by_gate = _by_gate(conversion.gates)
    arrays[places[0]] = ConvertedArray(
        kernel,
        kernel.shape,
        lambda value: by_gate(
            value, lambda part: part.T.reshape(part.shape, order=conversion.order)
        ),
    )
    arrays[places[1]] = ConvertedArray(
        recurrent, recurrent.shape, lambda value: by_gate(value, np.transpose)
    )
    arrays[places[2]] = ConvertedArray(biases, shape, conversion.biases)


def _by_gate(gates: int) -> Callable[[Array, Callable[[Array], Array]], Array]:
    """Return a function that splits a kernel into the parts of the gates and converts each part
    separately.
    """

    def convert(value: Array, convert_part: Callable[[Array], Array]) -> Array:
        return np.hstack([convert_part(part) for part in np.hsplit(value, gates)])

    return convert

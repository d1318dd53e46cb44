"""The variables of layers as groups of an HDF5 file, in Keras's layout.

A group has an attribute `layer_names`, and a group for each layer. The group of a layer has an
attribute `weight_names` and the arrays. A file's layers are matched by order or by name. All shapes
are compared first. Then all variables are set in one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.version import KERAS_VERSION
from gpugraph.library.keras.backend.keras_variables import batch_get_value, batch_set_value
from gpugraph.library.keras.saving.cudnn_weights import converted
from gpugraph.library.keras.saving.hdf5_groups import (
    StoredArray,
    part_of,
    read_names,
    write_array,
    write_names,
)
from gpugraph.platform import logging


def ordered_weights(layer: Any) -> list[Any]:
    """Return the variables of a layer in the order that files have: the trainable variables, then
    all others.
    """
    trainable = list(layer.trainable_weights)
    return trainable + list(layer.non_trainable_weights)


def write_layers(group: Any, layers: Sequence[Any]) -> None:
    """Write the variables of layers into a group. One run of Keras's session reads their values."""
    weights = [ordered_weights(layer) for layer in layers]
    values = iter(batch_get_value([weight for part in weights for weight in part]))
    write_names(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = KERAS_VERSION.encode()
    for layer, part in zip(layers, weights):
        write_values(group.require_group(layer.name), part, [next(values) for _ in part])


def write_values(group: Any, weights: Sequence[Any], values: Sequence[Any]) -> None:
    """Write the values of variables into a group, under the variables' names."""
    names = _distinct_names([weight.name for weight in weights])
    write_names(group, "weight_names", names)
    for name, value in zip(names, values):
        write_array(group, name, value)


def _distinct_names(names: Sequence[str]) -> list[str]:
    """Append numbers to repeated names, because names in an HDF5 group are unique."""
    counts: dict[str, int] = {}
    distinct = []
    for name in names:
        count = counts[name] = counts.get(name, -1) + 1
        distinct.append(f"{name}_{count}" if count else name)
    return distinct


def read_arrays(group: Any) -> list[StoredArray]:
    """Return the arrays of a group in their order. The elements of the arrays are not read yet."""
    return [StoredArray(group, name) for name in read_names(group, "weight_names")]


def read_layers(group: Any, layers: Sequence[Any]) -> None:
    """Set the variables of layers from a group. Layers are matched by order.

    Layers without variables are ignored. Raises ValueError if the number of layers, the number of a
    layer's variables, or a shape differs.
    """
    weighted = [layer for layer in layers if ordered_weights(layer)]
    stored = [
        (name, arrays)
        for name in read_names(group, "layer_names")
        if (arrays := read_arrays(part_of(group, name)))
    ]
    if len(stored) != len(weighted):
        raise ValueError(
            f"You are trying to load a weight file containing {len(stored)} layers into a model "
            f"with {len(weighted)} layers: {[name for name, _ in stored][:8]} into "
            f"{[layer.name for layer in weighted][:8]}."
        )
    pairs: list[tuple[Any, StoredArray]] = []
    for number, (layer, (name, arrays)) in enumerate(zip(weighted, stored)):
        weights = ordered_weights(layer)
        if len(arrays) != len(weights):
            raise ValueError(
                f'Layer #{number} (named "{layer.name}" in the current model) was found to '
                f'correspond to layer "{name}" in the save file. However the new layer '
                f"{layer.name} expects {len(weights)} weights, but the saved weights have "
                f"{len(arrays)} elements."
            )
        pairs += zip(weights, converted(layer, weights, arrays))
    assign_stored(pairs)


def read_named_layers(group: Any, layers: Sequence[Any], skip_mismatch: bool = False) -> None:
    """Set the variables of the layers whose names are in the group. All other layers are unchanged.

    Args:
      skip_mismatch: whether to ignore, with a warning, a layer whose number or shapes of variables
        differ. Otherwise such a layer raises ValueError.
    """
    pairs: list[tuple[Any, StoredArray]] = []
    for number, name in enumerate(read_names(group, "layer_names")):
        for layer in layers:
            if layer.name == name:
                weights = ordered_weights(layer)
                arrays = converted(layer, weights, read_arrays(part_of(group, name)))
                fault = _mismatch(number, layer, weights, arrays)
                if fault is None:
                    pairs += zip(weights, arrays)
                elif skip_mismatch:
                    logging.warning(f"Skipping loading of weights: {fault}")
                else:
                    raise ValueError(fault)
    assign_stored(pairs)


def _mismatch(number: int, layer: Any, weights: Sequence[Any], arrays: Sequence[Any]) -> str | None:
    """Return a sentence that states how a layer's variables differ from the stored arrays, or None
    if there is no difference.
    """
    if len(arrays) != len(weights):
        return (
            f'Layer #{number} (named "{layer.name}") expects {len(weights)} weight(s), but the '
            f"saved weights have {len(arrays)} element(s)."
        )
    for weight, array in zip(weights, arrays):
        if tuple(weight.shape.as_list()) != array.shape:
            return (
                f'Layer #{number} (named "{layer.name}"), weight {weight.name} has shape '
                f"{tuple(weight.shape.as_list())}, but the saved weight has shape {array.shape}."
            )
    return None


def assign_stored(pairs: Sequence[tuple[Any, Any]]) -> None:
    """Set variables to stored arrays in one run. All shapes are compared first.

    Raises ValueError if a shape differs.
    """
    for weight, array in pairs:
        if tuple(weight.shape.as_list()) != tuple(array.shape):
            raise ValueError(
                f"Layer weight shape {tuple(weight.shape.as_list())} not compatible with provided "
                f"weight shape {tuple(array.shape)} (variable {weight.name}, {array.name} in the "
                "file)"
            )
    batch_set_value([(weight, array.value()) for weight, array in pairs])

"""The arguments of recurrent layers' calls: inputs, initial states and constants.

Constants are tensors that every step receives. A network records only the inputs of a call as
connections between layers. Therefore states and constants that layers created are appended to the
inputs, in a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.nest import flatten, map_structure
from gpugraph.library.keras.backend.keras_variables import is_keras_tensor
from gpugraph.library.keras.engine.layer_inputs import tensor_of_value


def split_arguments(
    inputs: Any, initial_state: Any, constants: Any, count: int
) -> tuple[Any, list[Any] | None, list[Any] | None]:
    """Split the arguments of a call into the inputs, the list of initial states and the list of
    constants.

    A missing list is None. Raises ValueError if `inputs` is a list and `initial_state` or
    `constants` is passed too.

    Args:
      inputs: the inputs themselves, or a list of the inputs, the initial states and `count`
        constants.
    """
    if isinstance(inputs, list):
        if initial_state is not None or constants is not None:
            raise ValueError(
                "The inputs are a list, which has initial states and constants behind the inputs: "
                "they can't be arguments as well"
            )
        further = inputs[1:]
        if count:
            further, constants = further[:-count], further[-count:]
        inputs, initial_state = inputs[0], further or None
    return inputs, _listed(initial_state), _listed(constants)


def _listed(tensors: Any) -> list[Any] | None:
    if tensors is None or isinstance(tensors, list):
        return tensors
    return list(tensors) if isinstance(tensors, tuple) else [tensors]


def call_arguments(
    layer: Any, inputs: Any, initial_state: Any, constants: Any, further: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the inputs and keyword arguments with which to call a recurrent layer.

    If the states and constants are outputs of Keras layers, the states and constants are appended
    to the inputs, in one list. Otherwise the states and constants are added to the keyword
    arguments `further`. This function also sets the layer's `_num_constants`. Raises ValueError if
    layers created only some of the states and constants.
    """
    if constants is not None:
        layer._num_constants = len(constants)
    by_name = {"initial_state": initial_state, "constants": constants}
    passed = {name: _tensors(values) for name, values in by_name.items() if values is not None}
    tensors = [tensor for values in passed.values() for tensor in values]
    kinds = {is_keras_tensor(tensor) for tensor in flatten(tensors)}
    if len(kinds) > 1:
        raise ValueError(
            "The initial state or constants of an RNN layer cannot be specified with a mix of "
            'Keras tensors and non-Keras tensors (a "Keras tensor" is a tensor that was returned '
            f"by a Keras layer, or by `Input`): {tensors} (layer {layer.name})"
        )
    if kinds == {True}:
        return [inputs, *tensors], further
    return inputs, {**further, **passed}


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [map_structure(tensor_of_value, value) for value in values]

"""Bidirectional: a layer that runs a recurrent layer along sequences in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.keras.backend.array_functions import concatenate, reverse
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.keras_objects import deserialize_layer, takes_custom_objects
from gpugraph.library.keras.layers.recurrent.call_arguments import call_arguments, split_arguments
from gpugraph.library.keras.layers.recurrent.stacked_cells import cells_of
from gpugraph.library.keras.layers.wrapper_layers import Wrapper, config_of, takes

_COMMON = ("stateful", "return_sequences", "return_state")
_MODES = ("sum", "mul", "ave", "concat", None)


class Bidirectional(Wrapper):
    """A recurrent layer, together with a copy of it that runs backwards. The outputs of the two
    layers are merged step by step.

    The constructor raises ValueError if `merge_mode` is unknown, if `layer` or `backward_layer` is
    not a layer, or if the two layers run in the same direction or differ in `stateful`,
    `return_sequences` or `return_state`.

    Args:
      merge_mode: "concat" (along the last axis), "sum", "ave" or "mul". If `merge_mode` is None,
        the layer returns a list of both outputs.
      weights: arrays, the initial values of the forward layer's variables, then of the backward
        layer's variables.
      backward_layer: the layer for the other direction, which is used instead of a copy of `layer`.
    """

    supports_masking = True

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        if merge_mode not in _MODES:
            raise ValueError(
                "Invalid merge mode. Merge mode should be one of "
                '{"sum", "mul", "ave", "concat", None}: ' + f"{merge_mode!r}"
            )
        if backward_layer is not None and not isinstance(backward_layer, Layer):
            raise ValueError(
                f"`backward_layer` need to be a `Layer` instance. You passed: {backward_layer!r}"
            )
        kwargs.setdefault("trainable", getattr(layer, "trainable", True))
        super().__init__(layer, **kwargs)
        self._backward_config = None if backward_layer is None else config_of(backward_layer)
        self.forward_layer = _copy_of(layer)
        self.backward_layer: Any = backward_layer
        if backward_layer is None:
            self.backward_layer = _copy_of(layer, go_backwards=not layer.go_backwards)
        for prefix, one in (("forward", self.forward_layer), ("backward", self.backward_layer)):
            one._name = f"{prefix}_{one.name}"
            if hasattr(one, "zero_output_for_mask"):
                one.zero_output_for_mask = one.return_sequences
        self._check_layers()
        self.merge_mode = merge_mode
        if weights:
            half = len(weights) // 2
            self.forward_layer._initial_weights = weights[:half]
            self.backward_layer._initial_weights = weights[half:]
        self.stateful = layer.stateful
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.input_spec = layer.input_spec
        self._num_constants = 0

    def _check_layers(self) -> None:
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "Forward layer and backward layer should have different `go_backwards` value: "
                f"both have {forward.go_backwards}"
            )
        for name in _COMMON:
            values = getattr(forward, name), getattr(backward, name)
            if values[0] != values[1]:
                raise ValueError(
                    "Forward layer and backward layer are expected to have the same value for "
                    f"attribute {name}, got {values[0]} and {values[1]}"
                )

    def sublayers(self) -> list[Any]:
        """Return the forward layer and the backward layer."""
        return [self.forward_layer, self.backward_layer]

    def build(self, input_shape: Any) -> None:
        """Build both layers. The variables of each layer are in a name scope that has the layer's
        name.
        """
        for layer in self.sublayers():
            graph = get_default_graph()
            with graph.name_scope(layer.name):
                layer.build_for(input_shape, self.dtype)
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the merged outputs. If `return_state` is true, return [this shape,
        shapes of states ...].

        If `merge_mode` is None, the list begins with the shapes of the outputs of the two layers.
        """
        shapes = self.forward_layer.compute_output_shape(input_shape)
        states: list[Any] = []
        if self.return_state:
            shapes, *states = shapes
        outputs = [shapes]
        if self.merge_mode == "concat":
            *sizes, last = as_shape(shapes).as_list()
            outputs = [TensorShape([*sizes, None if last is None else 2 * last])]
        elif self.merge_mode is None:
            outputs = [shapes, shapes]
        listed = [*outputs, *states, *states]
        return listed if len(listed) > 1 else listed[0]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the inputs' mask if the layers return the outputs of all steps, otherwise None.

        If the layer returns several tensors, return a list with a mask for each tensor. The mask of
        a state is None.
        """
        output_mask = flatten(mask)[0] if self.return_sequences else None
        outputs = [output_mask] if self.merge_mode else [output_mask, output_mask]
        states = flatten(self.forward_layer.states) * 2 if self.return_state else []
        masks = [*outputs, *(None for _ in states)]
        return masks if len(masks) > 1 else masks[0]

    def _check_spec(self, inputs: Any) -> None:
        super()._check_spec(inputs[0] if isinstance(inputs, list) else inputs)

    def __call__(
        self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any
    ) -> Any:
        """Run both layers on the inputs.

        Raises ValueError for an odd number of states.

        Args:
          initial_state: the states of the forward layer, then the states of the backward layer.
          constants: tensors that the two layers receive in every step.
        """
        inputs, initial_state, constants = split_arguments(
            inputs, initial_state, constants, self._num_constants
        )
        if initial_state is not None and len(initial_state) % 2:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list "
                f"containing the states of the underlying RNNs. Found: {initial_state}"
            )
        inputs, kwargs = call_arguments(self, inputs, initial_state, constants, kwargs)
        return super().__call__(inputs, **kwargs)

    def call(
        self,
        inputs: Any,
        training: Any = None,
        mask: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        """Return the merged outputs. If `return_state` is true, also return the states of the two
        layers.

        The backward layer's outputs are first reversed into the order of the inputs.
        """
        if isinstance(inputs, list):
            inputs, initial_state, constants = split_arguments(
                inputs, None, None, self._num_constants
            )
        given_arguments = {"training": training, "constants": constants}
        if mask is not None:
            given_arguments["mask"] = flatten(mask)[0]
        further = {
            name: value
            for name, value in given_arguments.items()
            if value is not None and takes(self.layer, name)
        }
        half = len(initial_state or ()) // 2
        results = []
        for number, layer in enumerate(self.sublayers()):
            state = initial_state[number * half : (number + 1) * half] if half else None
            results.append(layer(inputs, **further, **({"initial_state": state} if state else {})))
        return self._merged(*results)

    def _merged(self, forward: Any, backward: Any) -> Any:
        states: list[Any] = []
        if self.return_state:
            states = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            time_axis = 0 if getattr(self.forward_layer, "time_major", False) else 1
            backward = reverse(backward, time_axis)
        if self.merge_mode is None:
            return [forward, backward, *states]
        merged = self._merge(forward, backward)
        return [merged, *states] if self.return_state else merged

    def _merge(self, forward: Any, backward: Any) -> Any:
        if self.merge_mode == "concat":
            return concatenate([forward, backward])
        if self.merge_mode == "mul":
            return forward * backward
        total = forward + backward
        return total / 2.0 if self.merge_mode == "ave" else total

    def reset_states(self, states: Any = None) -> None:
        """Set the states of the two layers to zero, or to the given arrays.

        Raises AttributeError for a layer that is not stateful. Raises ValueError for states that
        are not a list.

        Args:
          states: arrays for the forward layer, then arrays for the backward layer.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if states is not None and not isinstance(states, (list, tuple)):
            raise ValueError(
                f"Unrecognized value for `states`. Expected `states` to be list or tuple: {states}"
            )
        half = len(states or ()) // 2
        for number, layer in enumerate(self.sublayers()):
            layer_states = None if states is None else states[number * half : (number + 1) * half]
            layer.reset_states(layer_states)

    def get_config(self) -> dict[str, Any]:
        """Return the layer's configuration, `merge_mode`, and `backward_layer` if it was passed."""
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self._backward_config is not None:
            config["backward_layer"] = self._backward_config
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Create a layer from a dict that `get_config` returned.

        The new layer has new variables.
        """
        arguments = dict(config)
        count = arguments.pop("num_constants", 0)
        for name in ("layer", "backward_layer"):
            if name in arguments:
                arguments[name] = deserialize_layer(arguments[name], custom_objects)
        wrapper = cls(**arguments)
        wrapper._num_constants = count
        return wrapper


def _copy_of(layer: Any, **changes: Any) -> Any:
    """Return a new layer of the same class. The new layer has the same configuration, except for
    the arguments in `changes`.

    Raises ValueError for a layer without `go_backwards`.
    """
    if not hasattr(layer, "go_backwards"):
        raise ValueError(f"A layer in both directions needs `go_backwards`: {layer!r} has none")
    config = {**layer.get_config(), **changes}
    cells = cells_of(getattr(layer, "cell", layer))
    custom_objects = {type(cell).__name__: type(cell) for cell in cells}
    if takes_custom_objects(type(layer).from_config):
        return type(layer).from_config(config, custom_objects=custom_objects)
    return type(layer).from_config(config)

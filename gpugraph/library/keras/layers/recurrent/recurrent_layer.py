"""RNN: a layer that runs a cell along sequences, from initial states to final states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpugraph.base.nest import flatten, is_nested, map_structure
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.library.keras.backend.array_functions import zeros
from gpugraph.library.keras.backend.keras_rnn import rnn
from gpugraph.library.keras.backend.keras_variables import batch_set_value
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.keras_objects import config_entry, deserialize_layer
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer
from gpugraph.library.keras.layers.recurrent.call_arguments import call_arguments, split_arguments
from gpugraph.library.keras.layers.recurrent.stacked_cells import (
    StackedRNNCells,
    call_cell,
    cells_of,
    flatten_shapes,
    takes_argument,
)
from gpugraph.library.keras.layers.recurrent.state_sizes import (
    check_cell_of_layer,
    initial_state_of,
    known_shape,
    listed_sizes,
    output_size_of,
)
from gpugraph.ops.framework.identity_and_shape import shape as shape_of
from gpugraph.ops.state.reference_variable_ops import assign

_UNKNOWN_BATCH = """If a RNN is stateful, it needs to know its batch size. Specify the batch size \
of your input tensors:
- If using a Sequential model, specify the batch size by passing a `batch_input_shape` argument to \
your first layer.
- If using the functional API, specify the batch size by passing a `batch_shape` argument to your \
Input layer."""

_UNKNOWN_STEPS = """Cannot unroll a RNN if the time dimension is undefined.
- If using a Sequential model, specify the time dimension by passing an `input_shape` or \
`batch_input_shape` argument to your first layer.
- If using the functional API, specify the time dimension by passing a `shape` or `batch_shape` \
argument to your Input layer."""


class RNN(ConfiguredLayer):
    """A layer that runs a cell along sequences [n, steps, ...]. The layer returns the last output
    or all outputs.

    The constructor raises ValueError if `cell` is not a cell.

    Args:
      cell: a layer, or another object with `call(inputs, states)` and `state_size`. `cell` may also
        be a list of cells, each of which receives the outputs of the previous cell.
      return_sequences: whether to return all outputs, [n, steps, ...].
      return_state: whether to return a list of the outputs and the last states.
      go_backwards: whether to process the steps from the last to the first. The first output is
        then the output for the last step of the inputs.
      stateful: whether a batch starts from the final states of the previous batch.
      unroll: whether to build the ops of every step separately, without a loop.
      time_major: whether the sequences are [steps, n, ...].
      kwargs: may contain `zero_output_for_mask`: whether the output of a masked step is 0 instead
        of the previous step's output.
    """

    supports_masking = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        check_cell_of_layer(cell)
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_shape" not in kwargs and ("input_dim" in kwargs or "input_length" in kwargs):
            kwargs["input_shape"] = kwargs.pop("input_length", None), kwargs.pop("input_dim", None)
        super().__init__(**kwargs)
        arguments = {**locals()}
        del arguments["cell"]
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful = go_backwards, stateful
        self.unroll, self.time_major = unroll, time_major
        self.keep_arguments(arguments)
        self._states: Any = None
        self._num_constants = 0

    # -- states

    @property
    def states(self) -> Any:
        """The variables that hold a stateful layer's states. Before these variables exist, the
        property is a list of None.
        """
        if self._states is None:
            return [map_structure(lambda _: None, size) for size in self._sizes()]
        return self._states

    @states.setter
    def states(self, states: Any) -> None:
        self._states = states

    def _sizes(self) -> list[Any]:
        return listed_sizes(self.cell.state_size)

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Return the initial states for a batch of `inputs`: the states that the cell defines, or
        zeros.
        """
        first = flatten(inputs)[0]
        batch = shape_of(first)[1 if self.time_major else 0]
        state = initial_state_of(self.cell, None, batch, first.dtype)
        return list(state) if is_nested(state) else [state]

    def reset_states(self, states: Any = None) -> None:
        """Set the states of a stateful layer to zeros, or to `states`, a list of arrays.

        Raises AttributeError for a layer that is not stateful. Raises ValueError if the batch size
        is unknown, or if the number or the shapes of the arrays are wrong.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        shapes = self.shapes_of_states()
        if self._states is None:
            self._states = [map_structure(zeros, shape) for shape in shapes]
            if states is None:
                return
        variables = flatten(self._states)
        values = flatten(states) if states is not None else [np.zeros(v.shape) for v in variables]
        if len(values) != len(variables):
            raise ValueError(
                f"Layer {self.name} expects {len(variables)} states, but it received "
                f"{len(values)} state values. Input received: {states}"
            )
        for number, (value, variable) in enumerate(zip(values, variables, strict=True)):
            expected = tuple(variable.shape.as_list())
            if np.shape(value) != expected:
                raise ValueError(
                    f"State {number} is incompatible with layer {self.name}: expected "
                    f"shape={expected}, found shape={np.shape(value)}"
                )
        batch_set_value(list(zip(variables, values, strict=True)))

    def shapes_of_states(self) -> list[Any]:
        """Return the shapes of the states of a stateful layer, with the batch size of its inputs.

        Raises ValueError if the batch size is unknown.
        """
        spec = None if self.input_spec is None else flatten(self.input_spec)[0]
        batch = None if spec is None or spec.shape is None else spec.shape[int(self.time_major)]
        if not batch:
            raise ValueError(_UNKNOWN_BATCH)
        return [
            map_structure(lambda size: known_shape(batch, size), state) for state in self._sizes()
        ]

    def check_states(self, states: Any) -> None:
        """Raise ValueError if the program passed initial states of a wrong number or shape."""
        sizes, shapes = self._sizes(), [tensor.shape for tensor in flatten(states)]
        if len(states) != len(sizes):
            raise ValueError(
                f"Layer has {len(sizes)} states but was passed {len(states)} initial states."
            )
        flat = flatten(sizes)
        fit = len(shapes) == len(flat) and all(
            self.state_fits(shape, size) for shape, size in zip(shapes, flat, strict=True)
        )
        if not fit:
            raise ValueError(
                "An `initial_state` was passed that is not compatible with `cell.state_size`. "
                f"Received `state_spec`={[shape.as_list() for shape in shapes]}; however "
                f"`cell.state_size` is {sizes} (layer {self.name})"
            )

    def state_fits(self, shape: TensorShape, size: Any) -> bool:
        """Return whether a state [n, ...] of this shape has the cell's state size `size`."""
        return shape.rank is None or shape[1:].is_compatible_with(as_shape(size))

    # -- shapes and masks

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs. If `return_state` is true, return [this shape, shapes of
        states ...].
        """
        first = as_shape(flatten_shapes(_first(input_shape))[0]).as_list()
        batch, steps = (first[1], first[0]) if self.time_major else first[:2]
        leading = [batch]
        if self.return_sequences:
            leading = [steps, batch] if self.time_major else [batch, steps]
        outputs = map_structure(
            lambda size: TensorShape(leading).concatenate(as_shape(size)), output_size_of(self.cell)
        )
        if not self.return_state:
            return outputs
        return [*flatten(outputs), *(known_shape(batch, size) for size in flatten(self._sizes()))]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the inputs' mask if the layer returns the outputs of all steps, otherwise None.

        If `return_state` is true, return a list with the mask of the outputs, then None for each
        state.
        """
        output_mask = flatten(mask)[0] if self.return_sequences else None
        return (
            [output_mask, *(None for _ in flatten(self.states))]
            if self.return_state
            else output_mask
        )

    def build(self, input_shape: Any) -> None:
        """Build the cell for the shape of one step, and create the states of a stateful layer."""
        input_shape = _first(input_shape)
        flat = [as_shape(shape) for shape in flatten_shapes(input_shape)]
        self.input_spec = [self._spec(shape) for shape in flat]
        if isinstance(self.cell, Layer):
            is_one = len(flatten_shapes(input_shape)) == 1 and not _is_structure(input_shape)
            step = (
                self._step_shape(flat[0])
                if is_one
                else map_structure(lambda shape: self._step_shape(as_shape(shape)), input_shape)
            )
            self.cell.build_for(step, self.dtype)
        if self.stateful:
            self.reset_states()
        self.built = True

    def _spec(self, shape: TensorShape) -> InputSpec:
        sizes = shape.as_list()
        sizes[0 if self.time_major else 1] = None
        if not self.stateful:
            sizes[1 if self.time_major else 0] = None
        return InputSpec(shape=sizes)

    def _step_shape(self, shape: TensorShape) -> TensorShape:
        sizes = shape.as_list()
        del sizes[0 if self.time_major else 1]
        return TensorShape(sizes)

    def _check_spec(self, inputs: Any) -> None:
        super()._check_spec(_first(inputs))

    # -- calls

    def __call__(
        self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any
    ) -> Any:
        """Run the cell along the inputs.

        States and constants may also follow the inputs in a list. Raises ValueError if some of
        these tensors are outputs of Keras layers and others are not.

        Args:
          initial_state: the initial states, instead of zeros or a stateful layer's states.
          constants: tensors that each step receives in addition to its inputs.
        """
        inputs, initial_state, constants = split_arguments(
            inputs, initial_state, constants, self._num_constants
        )
        inputs, kwargs = call_arguments(self, inputs, initial_state, constants, kwargs)
        return super().__call__(inputs, **kwargs)

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        """Return the last output or all outputs. If `return_state` is true, return [this tensor,
        states ...].

        Args:
          mask: bool [n, steps]. A step for which the mask is False leaves the states unchanged.
        """
        if isinstance(inputs, list):
            inputs, initial_state, constants = split_arguments(
                inputs, None, None, self._num_constants
            )
        if initial_state is not None:
            self.check_states(initial_state)
        elif self.stateful:
            initial_state = self.states
        else:
            initial_state = self.get_initial_state(inputs)
        self._forget_dropout()
        last, outputs, states = self.run(inputs, initial_state, mask, training, constants)
        if self.stateful:
            pairs = zip(flatten(self.states), flatten(states), strict=True)
            self.add_update(
                [assign(variable, state) for variable, state in pairs], inputs=flatten(inputs)
            )
        output = outputs if self.return_sequences else last
        if not self.return_state:
            return output
        return [*(output if isinstance(output, (list, tuple)) else [output]), *states]

    def run(
        self, inputs: Any, initial_state: Any, mask: Any, training: Any, constants: Any
    ) -> tuple[Any, Any, Any]:
        """Return the last output, all outputs, and the last states. `backend.rnn` computes the
        outputs and states.
        """
        steps = flatten(inputs)[0].shape.as_list()[0 if self.time_major else 1]
        if self.unroll and steps is None:
            raise ValueError(f"{_UNKNOWN_STEPS} (layer {self.name})")
        if constants and not takes_argument(self.cell, "constants"):
            raise ValueError(f"RNN cell does not support constants: {self.cell!r}")
        count = len(constants or ())

        def step(step_inputs: Any, states: Any) -> Any:
            cell_states, fixed = (states[:-count], states[-count:]) if count else (states, None)
            further = {"training": training, **({"constants": fixed} if count else {})}
            return call_cell(self.cell, step_inputs, cell_states, further)

        return rnn(
            step,
            inputs,
            initial_state,
            constants=constants,
            go_backwards=self.go_backwards,
            mask=None if mask is None else flatten(mask)[0],
            unroll=self.unroll,
            input_length=steps,
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
        )

    def _forget_dropout(self) -> None:
        """Discard the dropout masks of all cells, so that the first step draws new masks."""
        for cell in cells_of(self.cell):
            for name in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
                if hasattr(cell, name):
                    getattr(cell, name)()

    # -- configuration

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor, with the cell's class name and configuration."""
        cell = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        further = {
            name: value
            for name, value in (
                ("num_constants", self._num_constants),
                ("zero_output_for_mask", self.zero_output_for_mask),
            )
            if value
        }
        return {**super().get_config(), "cell": cell, **further}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Create a layer from a dict that `get_config` returned.

        The new layer has new variables.
        """
        cell = deserialize_layer(config_entry(config, "cell", cls.__name__), custom_objects)
        arguments = {name: value for name, value in config.items() if name != "cell"}
        count = arguments.pop("num_constants", 0)
        layer = cls(cell, **arguments)
        layer._num_constants = count
        return layer


def _first(structure: Any) -> Any:
    """Return the first element of a list of inputs and states, or of a list of their shapes.

    A value that is not a list, or is the shape of a single input, is returned unchanged.
    """
    is_list = isinstance(structure, list) and bool(structure)
    if is_list and not (structure[0] is None or isinstance(structure[0], int)):
        return structure[0]
    return structure


def _is_structure(input_shape: Any) -> bool:
    return isinstance(input_shape, (tuple, dict)) and flatten_shapes(input_shape) != [input_shape]

"""Cells of recurrent layers: simple cells, gated cells (GRU) and cells with a memory (LSTM).

A cell is a layer for one step: `cell(inputs, states)` returns the output and the next states.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.nest import is_nested
from gpugraph.base.shapes import as_shape
from gpugraph.graph.attr_values import whole_number
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.layers.recurrent.recurrent_dropout import DropoutCell, products
from gpugraph.library.keras.layers.recurrent.state_sizes import zero_state_of
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split, unstack
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Ones
from gpugraph.platform import logging


def _required(doc: str) -> property:
    """Return a property that raises NotImplementedError unless a subclass overrides it."""

    def read(cell: Any) -> Any:
        raise NotImplementedError(f"Abstract method: {type(cell).__name__} must define it. {doc}")

    return property(read, doc=doc)


class AbstractRNNCell(Layer):
    """Base class of a program's cells. A subclass defines `call(inputs, states)` and the sizes of
    states and outputs.
    """

    state_size = _required("The sizes of the states, without the batch.")
    output_size = _required("The size of outputs, without the batch.")

    def call(self, inputs: Any, states: Any) -> Any:
        """Return the output and the list of next states, given the inputs and states of one
        step.
        """
        raise NotImplementedError(f"Abstract method: {type(self).__name__} must define `call`")

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return zeros for each state.

        If `inputs` are passed, they determine the batch size and dtype.
        """
        return zero_state_of(self, inputs, batch_size, dtype)


class GatedCell(DropoutCell):
    """A cell with kernels [size, gates * units] and [units, gates * units].

    Each gate uses a part of the columns of the kernels.

    Args:
      implementation: 1 draws a separate dropout mask for each gate, 2 uses one mask for all gates.
    """

    gates = 1
    units: int
    kernel_initializer: Any
    recurrent_activation: Any
    state_size: Any
    implementation: int
    unit_forget_bias = False
    kernel: Any = None
    recurrent_kernel: Any = None
    bias: Any = None

    def keep_sizes(self, units: int, input_rate: float, recurrent_rate: float) -> None:
        """Set the number of units and the dropout rates. Raises ValueError unless `units` is
        positive.
        """
        self.units = whole_number("units", units)
        if self.units <= 0:
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive integer, got {units}"
            )
        self.set_dropout(input_rate, recurrent_rate)

    def keep_implementation(self, implementation: int) -> None:
        """Set the attribute `implementation`. The deprecated value 0 means 1."""
        if implementation == 0:
            logging.warning(
                "`implementation=0` has been deprecated, and now defaults to `implementation=1`. "
                "Please update your layer call."
            )
        self.implementation = implementation or 1

    @property
    def output_size(self) -> int:
        """The size of an output, which is the number of units."""
        return self.units

    def bias_shape(self) -> list[int]:
        """Return the shape of the bias."""
        return [self.gates * self.units]

    def build(self, input_shape: Any) -> None:
        """Create the kernels and the bias. Raises ValueError for an unknown size of the inputs."""
        depth = as_shape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError(
                f"The last dimension of the inputs to `{type(self).__name__}` should be defined. "
                f"Found `None`: the shape is {input_shape} (layer {self.name})"
            )
        width = self.gates * self.units
        self.kernel = self.add_parameter("kernel", [depth, width])
        self.recurrent_kernel = self.add_parameter(
            "recurrent_kernel", [self.units, width], options="recurrent"
        )
        if self.use_bias:
            self.bias = self.add_bias()
        self.built = True

    def add_bias(self) -> Any:
        """Create the bias. If `unit_forget_bias` is true, the forget gate's bias is initialized to
        1.
        """
        return add_gated_bias(self, self.bias_shape(), self.units, self.units)

    def parameters(self) -> tuple[Any, Any, Any]:
        """Return the kernel, the recurrent kernel and the bias (or None) for a step."""
        return self.kernel, self.recurrent_kernel, self.bias

    def masks_of(self, inputs: Any, state: Any, training: Any) -> tuple[Any, Any]:
        """Return the dropout masks for inputs and for the state.

        Each is None, one mask for all gates, or a list with one mask per gate.
        """
        count = self.gates if self.implementation == 1 else 1
        return (
            self.get_dropout_mask_for_cell(inputs, training, count),
            self.get_recurrent_dropout_mask_for_cell(state, training, count),
        )

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return zeros for each state.

        If `inputs` are passed, they determine the batch size and dtype.
        """
        return zero_state_of(self, inputs, batch_size, dtype)


def add_gated_bias(cell: Any, shape: list[int], before: int, units: int) -> Any:
    """Create the variable `bias` of a cell.

    If the cell's `unit_forget_bias` is true, the `units` elements from index `before` on are
    initialized to 1.
    """
    initializer = cell.bias_initializer

    def with_forget_gate(shape: Any, dtype: Any = None, **_: Any) -> Any:
        after = int(shape[0]) - before - units
        parts = ((initializer, before), (Ones(), units), (initializer, after))
        return concat([of([size], dtype=dtype) for of, size in parts], 0)

    first = with_forget_gate if cell.unit_forget_bias else initializer
    return cell.add_weight(
        "bias",
        shape,
        initializer=first,
        regularizer=cell.bias_regularizer,
        constraint=cell.bias_constraint,
    )


class SimpleRNNCell(GatedCell):
    """A cell whose output and next state are activation(inputs @ kernel + bias + state @
    recurrent_kernel).

    Args:
      dropout, recurrent_dropout: the fractions of the inputs and of the state to drop in training.
    """

    implementation = 2

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.keep_sizes(units, dropout, recurrent_dropout)
        self.keep_arguments(locals())
        self.state_size = self.units

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output and [next state]. If `states` is a tensor instead of a list, return the
        next state as a tensor.
        """
        state = states[0] if is_nested(states) else states
        mask, recurrent_mask = self.masks_of(inputs, state, training)
        (total,) = products(inputs, self.kernel, mask, 1)
        if self.bias is not None:
            total = bias_add(total, self.bias)
        output = self.activation(
            total + products(state, self.recurrent_kernel, recurrent_mask, 1)[0]
        )
        return output, [output] if is_nested(states) else output


class GRUCell(GatedCell):
    """The gated recurrent unit. Source: Cho et al., 2014 (arXiv:1406.1078).

    The sum inputs @ kernel + state @ recurrent_kernel + bias has three parts. The gates z and r are
    `recurrent_activation` of the first two parts. The output and next state is z * state + (1 - z)
    * c. The candidate c is `activation` of the third part, in which r * state replaces the state.
    If `reset_after` is true, as in cuDNN, r is instead multiplied by state @ recurrent_kernel. The
    bias is then [2, 3 * units], with one row for the inputs and one for the state.
    """

    gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.keep_sizes(units, dropout, recurrent_dropout)
        self.keep_implementation(implementation)
        self.reset_after = reset_after
        self.keep_arguments(locals())
        self.state_size = self.units

    def bias_shape(self) -> list[int]:
        """Return [3 * units], or [2, 3 * units] if `reset_after` is true."""
        return [2, 3 * self.units] if self.reset_after else [3 * self.units]

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output and [next state]. If `states` is a tensor instead of a list, return the
        next state as a tensor.
        """
        state = states[0] if is_nested(states) else states
        masks, recurrent_masks = self.masks_of(inputs, state, training)
        kernel, recurrent_kernel, bias = self.parameters()
        biases, recurrent_biases = self._biases(bias)
        of_inputs = with_biases(products(inputs, kernel, masks, 3), biases)
        if self.reset_after:
            of_state = with_biases(
                products(state, recurrent_kernel, recurrent_masks, 3), recurrent_biases
            )
        else:
            gates = recurrent_kernel[:, : 2 * self.units]
            both = recurrent_masks[:2] if isinstance(recurrent_masks, list) else recurrent_masks
            of_state = products(state, gates, both, 2)
        update, reset = (
            self.recurrent_activation(one + other)
            for one, other in zip(of_inputs[:2], of_state[:2], strict=True)
        )
        if self.reset_after:
            past = reset * of_state[2]
        else:
            last = recurrent_masks[2] if isinstance(recurrent_masks, list) else recurrent_masks
            kept = state if last is None else state * last
            past = matmul(reset * kept, recurrent_kernel[:, 2 * self.units :])
        candidate = self.activation(of_inputs[2] + past)
        output = update * state + (1 - update) * candidate
        return output, [output] if is_nested(states) else output

    def _biases(self, bias: Any) -> tuple[Any, Any]:
        """Return two lists: the three parts of the bias for the inputs, and the three parts of the
        bias for the state.

        A list is None if there is no such bias.
        """
        if bias is None:
            return None, None
        if not self.reset_after:
            return split(bias, 3), None
        first, second = unstack(bias)
        return split(first, 3), split(second, 3)


def with_biases(parts: list[Any], biases: Any) -> list[Any]:
    """Add a bias to each part. If `biases` is None, add nothing."""
    if biases is None:
        return parts
    return [bias_add(part, bias) for part, bias in zip(parts, biases, strict=True)]


class LSTMCell(GatedCell):
    """Long short-term memory. Source: Hochreiter and Schmidhuber, 1997.

    The sum inputs @ kernel + state @ recurrent_kernel + bias has four parts. The gates i, f and o
    are `recurrent_activation` of the first, second and fourth part. The candidate c is `activation`
    of the third part. The next memory is f * memory + i * c, and the output is o * activation(next
    memory). The states are the output and the memory.

    Args:
      unit_forget_bias: whether the bias of f is initialized to 1.
    """

    gates = 4

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.keep_sizes(units, dropout, recurrent_dropout)
        self.keep_implementation(implementation)
        self.keep_arguments(locals())
        self.state_size = [self.units, self.units]

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output, and the list of the next states, which are the output and the
        memory.
        """
        state, memory = states[0], states[1]
        masks, recurrent_masks = self.masks_of(inputs, state, training)
        kernel, recurrent_kernel, bias = self.parameters()
        if masks is None and recurrent_masks is None:
            total = matmul(inputs, kernel) + matmul(state, recurrent_kernel)
            whole = total if bias is None else bias_add(total, bias)
            parts = list(split(whole, 4, axis=1))
        else:
            of_inputs = products(inputs, kernel, masks, 4)
            of_state = products(state, recurrent_kernel, recurrent_masks, 4)
            parts = [one + other for one, other in zip(of_inputs, of_state, strict=True)]
            parts = with_biases(parts, None if bias is None else split(bias, 4))
        output, memory = self.next_of(parts, memory)
        return output, [output, memory]

    def next_of(self, parts: list[Any], memory: Any) -> tuple[Any, Any]:
        """Return the output and the next memory.

        Args:
          parts: the sums for i, f, c and o, which the class describes.
        """
        of_input, of_forget, candidate, of_output = parts
        kept = self.recurrent_activation(of_forget) * memory
        memory = kept + self.recurrent_activation(of_input) * self.activation(candidate)
        return self.recurrent_activation(of_output) * self.activation(memory), memory


class PeepholeLSTMCell(LSTMCell):
    """An LSTM whose gates also depend on the memory. Each gate multiplies the memory by weights
    [units].

    Source: Gers and Schmidhuber, 2000. The output gate uses the new memory.
    """

    def build(self, input_shape: Any) -> None:
        """Create the kernels, the bias, and the weights of the memory for the three gates."""
        super().build(input_shape)
        self.input_gate_peephole_weights, self.forget_gate_peephole_weights = (
            self._peephole("input"),
            self._peephole("forget"),
        )
        self.output_gate_peephole_weights = self._peephole("output")

    def _peephole(self, gate: str) -> Any:
        return self.add_weight(
            f"{gate}_gate_peephole_weights", [self.units], initializer=self.kernel_initializer
        )

    def next_of(self, parts: list[Any], memory: Any) -> tuple[Any, Any]:
        """Return the output and the next memory.

        Args:
          parts: the sums for i, f, c and o.
        """
        of_input, of_forget, candidate, of_output = parts
        seen = self.recurrent_activation(of_input + self.input_gate_peephole_weights * memory)
        kept = self.recurrent_activation(of_forget + self.forget_gate_peephole_weights * memory)
        memory = kept * memory + seen * self.activation(candidate)
        opened = self.recurrent_activation(of_output + self.output_gate_peephole_weights * memory)
        return opened * self.activation(memory), memory

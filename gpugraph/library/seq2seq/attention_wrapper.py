"""AttentionWrapper: a cell whose inputs are combined with the attention of the previous step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_equal
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.recurrent.state_sizes import zero_state_of_cell
from gpugraph.library.layers.layer_classes import Dense
from gpugraph.library.rnn.rnn_cell_base import RNNCell, check_cell
from gpugraph.library.rnn.rnn_step import initial_state as first_state
from gpugraph.library.seq2seq.attention_mechanisms import AttentionMechanism
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.reductions.argmax_and_argmin import argmax
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class AttentionWrapperState(NamedTuple):
    """The state of an AttentionWrapper.

    Args:
      cell_state: the state of the wrapped cell.
      attention: the last attention.
      time: the number of the step.
      alignments, alignment_history, attention_state: the values for the attention mechanism. If
        there are several mechanisms, they are tuples.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Return the state with some fields replaced. The static shapes of the old tensors are set
        on the new ones.
        """

        def with_shape(old: Any, new: Any) -> Any:
            if isinstance(old, Tensor) and isinstance(new, Tensor):
                new.set_shape(old.shape)
            return new

        return map_structure(with_shape, self, self._replace(**kwargs))


def hardmax(logits: Any, name: str | None = None) -> Tensor:
    """Return a one-hot vector for each row of logits [batch, size]. It is 1 at the row's maximum
    and 0 elsewhere.
    """
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        depth = logits.shape.dims[-1].value or shape(logits)[-1]
        return one_hot(argmax(logits, -1), depth, dtype=logits.dtype)


class AttentionWrapper(RNNCell):
    """A cell with one or more attention mechanisms.

    The context is the mean of the memory's steps, weighted by the alignments. The attention is the
    context, or the output of a layer that is applied to the cell's output and the context.

    The constructor raises TypeError if `cell` is not a cell or a mechanism is not an
    AttentionMechanism. It raises ValueError if the numbers of layers and mechanisms differ.

    Args:
      cell: the wrapped cell.
      attention_mechanism: a mechanism, or a list of mechanisms.
      attention_layer_size: the output size of a dense layer that is applied to the cell's output
        and the context. A list has one size for each mechanism. If it is None, there is no such
        layer.
      alignment_history: whether the state contains the alignments of all steps, in TensorArrays.
      cell_input_fn: computes the cell's input from the inputs and the attention. By default, it
        concatenates the two.
      output_attention: whether the wrapper's output is the attention instead of the cell's output.
      initial_cell_state: the cell's state in the result of `zero_state`.
      attention_layer: a layer, or a list of layers, to use instead of dense layers of
        `attention_layer_size`.
      attention_fn: computes `(attention, alignments, state)` from a mechanism, the cell's output,
        the mechanism's state and the layer.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        check_cell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = _as_list(attention_mechanism)
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                expected = (
                    "contain only instances of AttentionMechanism"
                    if self._is_multi
                    else "be an AttentionMechanism or list of multiple AttentionMechanism instances"
                )
                raise TypeError(
                    f"attention_mechanism must {expected}, saw type: {type(mechanism).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell, self._cell_input_fn = cell, cell_input_fn or _joined
        self._layers = self._attention_layers(attention_layer_size, attention_layer)
        self._attention_fn = attention_fn or attend
        self._output_attention, self._keeps_history = output_attention, alignment_history
        with name_scope(name, "AttentionWrapperInit"):
            self._initial_cell_state = self._checked_state(initial_cell_state)

    def _attention_layers(self, sizes: Any, layers: Any) -> list[Any]:
        """Return the attention layer, or None, of each mechanism. Set the total size of the
        attention.
        """
        depths = [int(flatten(m.values)[0].shape[-1]) for m in self._mechanisms]
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        if sizes is not None:
            sizes = self._one_for_each(sizes, "attention_layer_size", "integer")
            self._attention_size = sum(sizes)
            return [
                Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in zip(sizes, self._mechanisms)
            ]
        if layers is None:
            self._attention_size = sum(depths)
            return [None] * len(self._mechanisms)
        layers = self._one_for_each(layers, "attention_layer", "layer")
        self._attention_size = sum(
            int(layer.compute_output_shape([None, self._cell.output_size + depth])[-1])
            for layer, depth in zip(layers, depths)
        )
        return layers

    def _one_for_each(self, values: Any, name: str, kind: str) -> list[Any]:
        values = _as_list(values)
        if len(values) != len(self._mechanisms):
            raise ValueError(
                f"If provided, {name} must contain exactly one {kind} per attention_mechanism, "
                f"saw: {len(values)} vs {len(self._mechanisms)}"
            )
        return values

    def _checked_state(self, state: Any) -> Any:
        """Return the cell's initial state. Each run checks the batch size of the state."""
        if state is None:
            return None
        last = flatten(state)[-1]
        batch = last.shape.dims[0].value or shape(last)[0]
        checks = self._batch_checks(
            batch,
            f"When constructing AttentionWrapper {self._base_name}: Non-matching batch sizes "
            "between the memory (encoder output) and initial_cell_state.  Are you using the "
            "BeamSearchDecoder?  You may need to tile your initial state via the "
            "tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width.",
        )
        with control_dependencies(checks):
            return map_structure(identity, state)

    def _batch_checks(self, batch_size: Any, message: str) -> list[Any]:
        return [assert_equal(batch_size, m.batch_size, message=message) for m in self._mechanisms]

    def _one_or_all(self, values: Any) -> Any:
        return tuple(values) if self._is_multi else next(iter(values))

    @property
    def output_size(self) -> Any:
        """The size of the attention, or of the cell's output if `output_attention` is false."""
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        """The sizes of the fields of a state, as an AttentionWrapperState."""
        sizes = [mechanism.alignments_size for mechanism in self._mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_size,
            alignments=self._one_or_all(sizes),
            attention_state=self._one_or_all(m.state_size for m in self._mechanisms),
            alignment_history=self._one_or_all(
                size if self._keeps_history else () for size in sizes
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """Return the initial state for a batch of `batch_size` sequences.

        A run raises InvalidArgumentError if the memory has a different batch size.
        """
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = first_state(self._cell, None, batch_size, dtype)
            checks = self._batch_checks(
                batch_size,
                f"When calling zero_state of AttentionWrapper {self._base_name}: Non-matching "
                "batch sizes between the memory (encoder output) and the requested batch size.  "
                "Are you using the BeamSearchDecoder?  If so, make sure your encoder output has "
                "been tiled to beam_width via tf.contrib.seq2seq.tile_batch, and the batch_size= "
                "argument passed to zero_state is batch_size * beam_width.",
            )
            with control_dependencies(checks):
                cell_state = map_structure(identity, cell_state)
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=zeros([], dtypes.int32),
                attention=zero_state_of_cell(self._attention_size, batch_size, dtype),
                alignments=self._one_or_all(alignments),
                attention_state=self._one_or_all(
                    m.initial_state(batch_size, dtype) for m in self._mechanisms
                ),
                alignment_history=self._one_or_all(map(self._history, alignments)),
            )

    def _history(self, alignments: Tensor) -> Any:
        if not self._keeps_history:
            return ()
        return TensorArray(
            alignments.dtype, size=0, dynamic_size=True, element_shape=alignments.shape
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, AttentionWrapperState]:
        """Return (the output, the next state). The output is the attention, or the cell's output if
        `output_attention` is false.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        cell_output, cell_state = self._cell(cell_inputs, state.cell_state)
        checks = self._batch_checks(
            cell_output.shape.dims[0].value or shape(cell_output)[0],
            f"When applying AttentionWrapper {self.name}: Non-matching batch sizes between the "
            "memory (encoder output) and the query (decoder output).  Are you using the "
            "BeamSearchDecoder?  You may need to tile your memory input via the "
            "tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width.",
        )
        with control_dependencies(checks):
            cell_output = identity(cell_output, name="checked_cell_output")
        states, histories = state.attention_state, state.alignment_history
        if not self._is_multi:
            states, histories = (states,), (histories,)
        attended = [
            self._attention_fn(mechanism, cell_output, previous, layer)
            for mechanism, previous, layer in zip(self._mechanisms, states, self._layers)
        ]
        attention = concat([part[0] for part in attended], 1)
        alignments = [part[1] for part in attended]
        next_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._one_or_all(part[2] for part in attended),
            alignments=self._one_or_all(alignments),
            alignment_history=self._one_or_all(
                history.write(state.time, weights) if self._keeps_history else ()
                for history, weights in zip(histories, alignments)
            ),
        )
        return (attention if self._output_attention else cell_output), next_state


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _joined(inputs: Any, attention: Any) -> Tensor:
    return concat([inputs, attention], -1)


def attend(mechanism: Any, cell_output: Any, state: Any, layer: Any) -> tuple[Any, Any, Any]:
    """Return (attention, alignments, next state of the mechanism).

    Args:
      layer: a layer that is applied to the cell's output and the context. If it is None, the
        attention is the context.
    """
    alignments, next_state = mechanism(cell_output, state)
    context = squeeze(matmul(expand_dims(alignments, 1), mechanism.values), [1])
    if layer is not None:
        context = layer(concat([cell_output, context], 1))
    return context, alignments, next_state

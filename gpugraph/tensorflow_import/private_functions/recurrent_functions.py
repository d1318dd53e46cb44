"""Private functions of `tensorflow.python.ops.rnn` and `rnn_cell_impl`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.nest import flatten
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.context_base import current
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.bidirectional_rnn import reverse_steps
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.library.rnn.rnn_step import Lengths, limited_step, state_dtype
from gpugraph.ops.framework.constant_value import constant_value_as_shape


def like_rnncell(cell: Any) -> bool:
    """Return whether an object has the methods and properties of a cell."""
    has_state = hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")
    sizes = all(hasattr(cell, name) for name in ("output_size", "state_size"))
    return sizes and has_state and callable(cell)


def is_keras_rnn_cell(rnn_cell: Any) -> bool:
    """Return whether a cell is a cell of Keras, which is not a `tf.nn.rnn_cell.RNNCell`."""
    has_no_zero_state = getattr(rnn_cell, "zero_state", None) is None
    return not isinstance(rnn_cell, RNNCell) and has_no_zero_state


def hasattr_of(obj: Any, attr_name: str) -> bool:
    """Return whether an attribute can be read. If a property raises AttributeError, return
    False.
    """
    return hasattr(obj, attr_name)


def check_supported_dtypes(dtype: Any) -> None:
    """Raise ValueError if a dtype is neither None, a floating point nor a complex dtype."""
    if dtype is None:
        return
    dtype = as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {dtype}")


def check_rnn_cell_input_dtypes(inputs: Any) -> None:
    """Raise ValueError if a tensor of the inputs is neither floating point nor complex."""
    for tensor in flatten(inputs):
        if isinstance(getattr(tensor, "dtype", None), DType):
            check_supported_dtypes(tensor.dtype)


def infer_state_dtype(explicit_dtype: Any, state: Any) -> Any:
    """Return `explicit_dtype`. If it is None, return the common dtype of the state's tensors."""
    return state_dtype(explicit_dtype, state)


def reverse_seq(input_seq: Any, lengths: Any) -> list[Any]:
    """Reverse a list of steps. If `lengths` is passed, reverse each batch entry separately."""
    return reverse_steps(input_seq, lengths)


def should_cache() -> bool:
    """Return whether to cache reads of variables: False inside of a while loop, otherwise True."""
    return current(get_default_graph()) is None


def maybe_tensor_shape_from_tensor(shape: Any) -> TensorShape:
    """Return the static shape for a tensor of sizes, or for sizes."""
    if isinstance(shape, Tensor):
        return constant_value_as_shape(shape) or TensorShape(None)
    return TensorShape(shape)


def rnn_step(
    time: Any,
    sequence_length: Any,
    min_sequence_length: Any,
    max_sequence_length: Any,
    zero_output: Any,
    state: Any,
    call_cell: Callable[[], Any],
    state_size: Any,
    skip_conditionals: bool = False,
) -> tuple[Any, Any]:
    """Return the output and the next state of a step. For sequences that have ended, return
    `zero_output` and the old state.

    Args:
      call_cell: a function without arguments that returns (output, next state).
      state_size: the sizes of the state. They are not used.
      skip_conditionals: whether to run the cell even if all sequences have ended.
    """
    del state_size
    lengths = Lengths(sequence_length, min_sequence_length, max_sequence_length)
    return limited_step(time, lengths, zero_output, state, call_cell, not skip_conditionals)

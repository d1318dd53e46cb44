"""Wrappers of cells in `tf.contrib.rnn`: embedding of ids, and projection of inputs or outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.building.variable_scope import get_variable, get_variable_scope
from gpugraph.graph.client.default_graph_functions import device
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.rnn_cell_base import RNNCell, check_cell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import RandomUniform, Zeros


def linear(args: Any, output_size: int, bias: bool = True) -> Tensor:
    """Return concatenate(args, axis 1) @ kernel + bias, with variables of the current scope.

    Raises ValueError if there are no arguments, and for arguments that are not matrices of known
    size.

    Args:
      args: matrices [batch, size], or a structure of such matrices.
      bias: whether there is a bias.
    """
    tensors = [convert_to_tensor(tensor) for tensor in flatten(args)]
    if not tensors:
        raise ValueError("`args` must be specified")
    for tensor in tensors:
        if tensor.shape.ndims != 2:
            raise ValueError(f"linear is expecting 2D arguments: {tensor.shape}")
        if tensor.shape[1].value is None:
            raise ValueError(f"linear expects shape[1] to be provided, but saw {tensor.shape}")
    joined = tensors[0] if len(tensors) == 1 else concat(tensors, 1)
    size = sum(int(tensor.shape[1].value or 0) for tensor in tensors)
    result = matmul(joined, get_variable("kernel", [size, output_size], joined.dtype))
    if bias:
        zeros = Zeros(dtype=joined.dtype)
        result = bias_add(result, get_variable("bias", [output_size], joined.dtype, zeros))
    return result


class SameStateWrapper(RNNCell):
    """Base class of wrappers whose state has the same structure as the wrapped cell's state."""

    def __init__(self, cell: Any, reuse: bool | None = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        check_cell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """The size of the wrapped cell's state."""
        return self._cell.state_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the zero state of the wrapped cell."""
        return self._cell.zero_state(batch_size, dtype)

    @property
    def output_size(self) -> Any:
        """The size of the wrapped cell's output."""
        return self._cell.output_size


class EmbeddingWrapper(SameStateWrapper):
    """A cell that replaces ids by rows of its variable `embedding` [embedding_classes,
    embedding_size].

    The constructor raises ValueError for sizes that are not positive.

    Args:
      initializer: the initializer of the variable. By default, it is the variable scope's
        initializer or, if that is None, uniform in [-sqrt(3), sqrt(3)).
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._sizes, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the wrapped cell's output and state for the embeddings of the ids [batch] or
        [batch, 1].
        """
        initializer = self._initializer or get_variable_scope().initializer
        if initializer is None:
            initializer = RandomUniform(-math.sqrt(3), math.sqrt(3))
        with device("/cpu:0"):
            dtype = flatten(state)[0].dtype
            table = get_variable("embedding", self._sizes, dtype, initializer)
            embedded = embedding_lookup(table, reshape(inputs, [-1]))
        return self._cell(embedded, state)


class InputProjectionWrapper(SameStateWrapper):
    """A cell whose inputs are first projected to `num_proj` numbers by a kernel and a bias."""

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable[[Any], Any] | None = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the wrapped cell's output and state for the projected inputs."""
        projected = linear(inputs, self._num_proj)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(SameStateWrapper):
    """A cell whose outputs are projected to `output_size` numbers by a kernel and a bias.

    The constructor raises ValueError for a size below 1.
    """

    def __init__(
        self,
        cell: Any,
        output_size: int,
        activation: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size, self._activation = output_size, activation

    @property
    def output_size(self) -> Any:
        """The size of the projected output."""
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the projected output and the wrapped cell's state."""
        output, next_state = self._cell(inputs, state)
        projected = linear(output, self._output_size)
        return (self._activation(projected) if self._activation else projected), next_state

"""An LSTM whose input gate is 1 minus its forget gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.variable_scope import get_variable, get_variable_scope, variable_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.lstm_cells import LSTMStateTuple
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import rsqrt, sigmoid, tanh
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add, moments
from gpugraph.ops.random.variable_initializers import Constant, Zeros
from gpugraph.ops.reductions.clip_by_norm import clip_by_value


class CoupledInputForgetGateLSTMCell(RNNCell):
    """An LSTM with the memory c = f * c + (1 - f) * activation(j), where f is the forget gate and j
    the new input. Source: Greff et al., 2015 (arXiv:1503.04069).

    The variables are `W_0` [depth + output, 3 * num_units] and `B` [3 * num_units]. If
    `use_peepholes` is true, there are also `W_F_diag` and `W_O_diag`. If `num_proj` is set, there
    is also `W_P_0` [num_units, num_proj]. If `layer_norm` is true, the variables of the norms
    `transform`, `forget`, `output` and `state` replace `B`. A matrix in several shards is the
    concatenation of `W_0`, `W_1`, and so on.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[[Any], Any] = tanh,
        reuse: bool | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_proj, self._proj_clip = num_units, num_proj, proj_clip
        self._use_peepholes, self._initializer = use_peepholes, initializer
        self._shards = (num_unit_shards, num_proj_shards)
        self._forget_bias, self._activation = forget_bias, activation
        self._state_is_tuple = state_is_tuple
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift

    @property
    def output_size(self) -> int:
        """The size of the output: `num_proj`, or `num_units` if it is None."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        """An LSTMStateTuple of `num_units` and the output's size. If `state_is_tuple` is False, it
        is their sum.
        """
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state). Raises ValueError for inputs of unknown depth."""
        depth = inputs.shape.with_rank(2).dims[1].value
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        if self._state_is_tuple:
            c, m = state
        else:
            c, m = split(state, [self._num_units, self.output_size], 1)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            c, m = self._step(inputs, c, m, depth + self.output_size)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else concat([c, m], 1)

    def _step(self, inputs: Any, c: Any, m: Any, depth: int) -> tuple[Tensor, Tensor]:
        dtype, units = inputs.dtype, self._num_units
        kernel = sharded("W", [depth, 3 * units], dtype, self._shards[0])
        joined = matmul(concat([inputs, m], 1), kernel)
        if not self._layer_norm:
            bias = get_variable("B", [3 * units], dtype, Zeros())
            joined = bias_add(joined, bias)
        j, f, o = split(joined, 3, 1)
        if self._layer_norm:
            j, f, o = self._norm(j, "transform"), self._norm(f, "forget"), self._norm(o, "output")
        f = f + self._forget_bias
        if self._use_peepholes:
            f = f + get_variable("W_F_diag", [units], dtype) * c
        forget = sigmoid(f)
        c = forget * c + (1.0 - forget) * self._activation(j)
        if self._layer_norm:
            c = self._norm(c, "state")
        if self._use_peepholes:
            o = o + get_variable("W_O_diag", [units], dtype) * c
        m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            m = matmul(m, sharded("W_P", [units, self._num_proj], dtype, self._shards[1]))
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return c, m

    def _norm(self, value: Tensor, name: str) -> Tensor:
        """Return `value`, normalized to mean 0 and variance 1 in each row, then scaled and
        shifted.
        """
        sizes = value.shape[-1:]
        with variable_scope(name):
            gamma = get_variable("gamma", sizes, value.dtype, Constant(self._norm_gain))
            beta = get_variable("beta", sizes, value.dtype, Constant(self._norm_shift))
        mean, variance = moments(value, [1], keep_dims=True)
        return (value - mean) * rsqrt(variance + 1e-12) * gamma + beta


def sharded(name: str, sizes: list[int], dtype: Any, shards: int) -> Any:
    """Return a matrix whose rows are distributed over `shards` variables: `name_0`, `name_1`, and
    so on.
    """
    least, rest = divmod(sizes[0], shards)
    if not least:
        raise ValueError(f"Can't have more shards than rows: {shards} shards, {sizes[0]} rows")
    parts = [
        get_variable(f"{name}_{shard}", [least + (shard < rest), *sizes[1:]], dtype)
        for shard in range(shards)
    ]
    return parts[0] if shards == 1 else concat(parts, 0)

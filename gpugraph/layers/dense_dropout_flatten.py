"""Fully connected layers, dropout, and flattening."""

from __future__ import annotations

from math import prod
from typing import Any

from gpugraph.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.tensor import Tensor
from gpugraph.layers.base_layer import Layer
from gpugraph.layers.layer_arguments import ZEROS, WeightOptions, channels_first, layer_function
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.linalg.matmul import matmul, tensordot
from gpugraph.ops.nn.activations import dropout as dropout_ops
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add


class Dense(Layer):
    """activation(inputs @ kernel + bias), along the last axis of inputs [..., size].

    units: how many numbers come out, of as many columns of `kernel` [size, units].
    use_bias: whether there is a `bias` [units].
    *_initializer, *_regularizer, *_constraint: of `kernel` and `bias`; see `tf.get_variable`.

    ValueError for inputs whose last size is unknown, or other than that of the first ones;
    TypeError for inputs that are no floating point numbers.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activation
        self.use_bias = use_bias
        self._kernel = WeightOptions(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = WeightOptions(bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, inputs_shape: Any) -> None:
        """Adds the kernel and the bias."""
        dtype = self.dtype
        if dtype is not None and not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                "Unable to build `Dense` layer with non-floating point dtype "
                f"{dtype!r} (layer {self.name})"
            )
        sizes = inputs_shape.sizes
        if sizes is not None and len(sizes) < 2:
            raise ValueError(
                f"Input 0 of layer {self.name} is incompatible with the layer: expected "
                f"min_ndim=2, found ndim={len(sizes)}. Full shape received: {list(sizes)}"
            )
        if sizes is None or sizes[-1] is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None` in "
                f"{inputs_shape} (layer {self.name})."
            )
        self.input_axes = {-1: int(sizes[-1])}
        self.kernel = self._kernel.add_to(self, "kernel", [sizes[-1], self.units])
        if self.use_bias:
            self.bias = self._bias.add_to(self, "bias", [self.units])

    def call(self, inputs: Tensor) -> Tensor:
        """activation(inputs @ kernel + bias)."""
        if inputs.shape.rank == 2:
            outputs = matmul(inputs, self.kernel)
        else:
            outputs = tensordot(inputs, self.kernel, [[int(inputs.shape.rank or 0) - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)


class Dropout(Layer):
    """Sets elements to 0 with probability `rate` while training; others grow by 1 / (1 - rate).

    noise_shape: where it is 1, elements along that axis are dropped together or not at all.
    seed: see `tf.set_random_seed`.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """training: a bool, or a bool tensor, by which a run chooses."""
        return smart_cond(
            training,
            lambda: dropout_ops.dropout(
                inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed
            ),
            lambda: identity(inputs),
        )


class Flatten(Layer):
    """All dimensions but the first as one: [n, ...] to [n, k].

    data_format: "channels_first" for inputs [n, channels, ...], whose channels become the last.
    """

    def __init__(self, data_format: str = "channels_last", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format
        self._first = channels_first(data_format)

    def build(self, inputs_shape: Any) -> None:
        """ValueError for scalars."""
        if inputs_shape.rank == 0:
            raise ValueError(f"Layer {self.name} takes inputs of rank 1 at least, not a scalar")

    def call(self, inputs: Tensor) -> Tensor:
        """Inputs [n, ...] as [n, k]."""
        rank = inputs.shape.rank
        if self._first and rank is not None and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape.sizes
        if sizes is not None and len(sizes) == 1:
            return expand_dims(inputs, 1)
        rest = None
        if sizes is not None and None not in sizes[1:]:
            rest = prod(map(int, sizes[1:]))  # type: ignore[arg-type]
        first = None if sizes is None else sizes[0]
        if rest is not None:
            return reshape(inputs, [-1 if rest or first is None else first, rest])
        if first is not None:
            return reshape(inputs, [first, -1])
        return reshape(inputs, stack([shape(inputs)[0], -1]))


dense = layer_function(Dense)
dropout = layer_function(Dropout, "rate noise_shape seed training name", reuse=False)
flatten = layer_function(Flatten, "name data_format", reuse=False)

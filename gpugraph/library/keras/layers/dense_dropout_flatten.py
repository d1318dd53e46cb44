"""The layers `Dense` (fully connected), `Dropout` and `Flatten`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer, SameShape, format_of
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.tensordot import tensordot
from gpugraph.ops.nn.activations import dropout as dropout_ops
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_dense_matmul
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


class Dense(ConfiguredLayer):
    """A layer that returns activation(inputs @ kernel + bias), along the last axis of inputs [...,
    size].

    The arguments `*_initializer`, `*_regularizer` and `*_constraint` are options of `kernel` and
    `bias`, as in `tf.get_variable`. The layer's first call raises ValueError if the last size of
    the inputs is unknown. Later calls raise ValueError if the last size of the inputs is different.
    Calls raise TypeError for inputs that are not floating point numbers.

    Args:
      units: the number of outputs per example. The variable `kernel` is [size, units], where size
        is the last size of the inputs.
      use_bias: whether there is a `bias` [units].

    >>> tf.keras.layers.Dense(4, activation="relu")(tf.ones([2, 3])).shape.as_list()
    [2, 4]
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = whole_number("units", units)
        self.keep_arguments(locals())
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(min_ndim=2)

    supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Create `kernel` and `bias`."""
        dtype = self.dtype
        if dtype is not None and not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                "Unable to build `Dense` layer with non-floating point dtype "
                f"{dtype!r} (layer {self.name})"
            )
        sizes = as_shape(input_shape).sizes
        if not sizes or sizes[-1] is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`: the "
                f"shape is {input_shape} (layer {self.name})."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: int(sizes[-1])})
        self.kernel = self.add_parameter("kernel", [sizes[-1], self.units])
        if self.use_bias:
            self.bias = self.add_parameter("bias", [self.units])
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """Return activation(inputs @ kernel + bias). Inputs of rank 2 are cast to the kernel's
        dtype.
        """
        if inputs.shape.rank == 2:
            inputs = cast(inputs, self.kernel.dtype.base_dtype)
            is_sparse = isinstance(inputs, SparseTensor)
            product = sparse_tensor_dense_matmul if is_sparse else matmul
            outputs = product(inputs, self.kernel)
        else:
            outputs = tensordot(inputs, self.kernel, [[int(inputs.shape.rank or 0) - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [..., units].

        Raises ValueError if the last size is unknown, or if there are fewer than two axes.
        """
        shape = as_shape(input_shape).with_rank_at_least(2)
        if shape.sizes is not None and shape.sizes[-1] is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {input_shape}"
            )
        return shape[:-1].concatenate(self.units)


class Dropout(SameShape):
    """A layer that drops elements in training.

    The layer sets each element to 0 with probability `rate`, and divides the remaining elements by
    1 - rate.

    Args:
      noise_shape: the shape of the random mask, which is broadcast to the inputs: elements along an
        axis of size 1 are dropped together. A None in this shape means the size of the inputs
        along that axis.
      seed: see `tf.set_random_seed`.
    """

    def __init__(
        self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.keep_arguments(locals())

    def call(self, inputs: Tensor, training: Any = None) -> Tensor:
        """Return the inputs with dropout in training, otherwise the inputs.

        Args:
          training: a bool, or a tensor that each run evaluates. The default is the learning phase.
        """
        return smart_cond(
            learning_phase() if training is None else training,
            lambda: dropout_ops.dropout(
                inputs, rate=self.rate, noise_shape=self.shape_of_noise(inputs), seed=self.seed
            ),
            lambda: identity(inputs),
        )

    def shape_of_noise(self, inputs: Tensor) -> Any:
        """Return `noise_shape` with each None replaced by the size of the inputs along that axis.
        If `noise_shape` is None, return None.
        """
        if not isinstance(self.noise_shape, (list, tuple)):
            return self.noise_shape
        sizes = shape(inputs)
        return [sizes[axis] if size is None else size for axis, size in enumerate(self.noise_shape)]


class _SpatialDropout(Dropout):
    """Base class of dropout layers that drop whole channels of an example."""

    dimensions = 1

    def __init__(self, rate: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = format_of(data_format)
        self._argument_names = ("rate", "noise_shape", "seed")
        self.input_spec = InputSpec(ndim=self.dimensions + 2)

    def shape_of_noise(self, inputs: Tensor) -> Any:
        """Return the shape of the inputs with size 1 for the spatial axes."""
        sizes, ones = shape(inputs), [1] * self.dimensions
        if self.data_format == "channels_first":
            return [sizes[0], sizes[1], *ones]
        return [sizes[0], *ones, sizes[self.dimensions + 1]]


class SpatialDropout1D(_SpatialDropout):
    """A layer that sets whole channels of sequences [n, steps, channels] to 0. In contrast,
    `Dropout` drops elements.
    """

    def __init__(self, rate: Any, **kwargs: Any) -> None:
        super().__init__(rate, "channels_last", **kwargs)


class SpatialDropout2D(_SpatialDropout):
    """A layer that sets whole channels of images to 0. In contrast, `Dropout` drops elements."""

    dimensions = 2


class SpatialDropout3D(_SpatialDropout):
    """A layer that sets whole channels of volumes to 0. In contrast, `Dropout` drops elements."""

    dimensions = 3


class Flatten(ConfiguredLayer):
    """A layer that flattens each example to a vector: [n, ...] becomes [n, size].

    Args:
      data_format: "channels_first" for inputs [n, channels, ...], which are transposed to channels
        last before they are flattened.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = format_of(data_format)
        self._first = self.data_format == "channels_first"
        self.keep_arguments(locals())
        self.input_spec = InputSpec(min_ndim=1)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [n, size], with None for an unknown size."""
        sizes = as_shape(input_shape).sizes
        if sizes is None:
            return TensorShape([None, None])
        return TensorShape([sizes[0], _product(sizes[1:])])

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs [n, ...] in the shape [n, size]."""
        rank = inputs.shape.rank
        if self._first and rank is not None and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape.sizes
        if sizes is not None and len(sizes) == 1:
            return expand_dims(inputs, 1)
        rest = None if sizes is None else _product(sizes[1:])
        first = None if sizes is None else sizes[0]
        if rest is not None:
            return reshape(inputs, [-1 if rest or first is None else first, rest])
        if first is not None:
            return reshape(inputs, [first, -1])
        return reshape(inputs, stack([shape(inputs)[0], -1]))


def _product(sizes: Sequence[int | None]) -> int | None:
    """Return the product of sizes. If a size is unknown, return None."""
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None

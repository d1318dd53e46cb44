"""Basic layers: activations, masks, reshaping and transposing, noise, and penalties."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.keras_regularizers import L1L2
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer, SameShape
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.comparison_and_select import not_equal
from gpugraph.ops.framework.identity_and_shape import shape as shape_of
from gpugraph.ops.random.random_ops import random_normal, random_uniform
from gpugraph.ops.reductions.reduction_functions import reduce_any


class Activation(SameShape):
    """A layer that applies an activation: a function, or the name of a function.

    See `tf.keras.activations.get`.
    """

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def call(self, inputs: Any) -> Any:
        """Return the activation of the inputs."""
        return self.activation(inputs)


class Masking(SameShape):
    """A layer that masks the steps of inputs [n, steps, features] at which all features equal
    `mask_value`.
    """

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.keep_arguments(locals())

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor:
        """Return a mask [n, steps]. The mask is True for steps at which a feature differs from
        `mask_value`.
        """
        del mask
        return reduce_any(not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Tensor:
        """Return the inputs with zeros at the masked steps."""
        kept = reduce_any(not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs: Any = inputs * cast(kept, inputs.dtype.base_dtype)
        outputs._keras_mask = kept[..., 0]
        return outputs


class Reshape(ConfiguredLayer):
    """A layer that reshapes each example to `target_shape`. One size in `target_shape` may be -1.
    This size is then inferred.

    A call raises ValueError if an example does not have as many elements as `target_shape`.
    """

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)
        self.keep_arguments(locals())

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return [n, *target_shape]. If the inputs' sizes are known, the inferred size replaces
        -1.
        """
        batch, *sizes = as_shape(input_shape).as_list()
        if None in sizes:
            return TensorShape(
                [batch, *(None if size == -1 else size for size in self.target_shape)]
            )
        count = math.prod(size or 1 for size in sizes)
        rest = math.prod(size for size in self.target_shape if size != -1)
        fits = rest == count or (-1 in self.target_shape and rest and count % rest == 0)
        if not fits or self.target_shape.count(-1) > 1:
            raise ValueError(
                f"total size of new array must be unchanged: {tuple(sizes)} to {self.target_shape} "
                f"(layer {self.name})"
            )
        known = [count // rest if size == -1 else size for size in self.target_shape]
        return TensorShape([batch, *known])

    def call(self, inputs: Any) -> Tensor:
        """Return the inputs in the shape [n, *target_shape]."""
        sizes = self.compute_output_shape(inputs.shape).as_list()[1:]
        sizes = [-1 if size is None else size for size in sizes]
        batch = inputs.shape.as_list()[0]
        if batch is None and -1 not in sizes:
            return reshape(inputs, [-1, *sizes])
        first = shape_of(inputs)[0] if batch is None else batch
        return reshape(inputs, stack([first, *sizes]) if batch is None else [first, *sizes])


class Permute(ConfiguredLayer):
    """A layer that transposes the axes of each example by the permutation `dims`. In `dims`, 1
    means the first axis of an example.
    """

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        self.keep_arguments(locals())
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                "Invalid permutation `dims` for Permute Layer: the set of indices in `dims` must "
                f"be consecutive and start from 1, but it is {self.dims}"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the sizes of the inputs in the order `dims`."""
        sizes = as_shape(input_shape).as_list()
        return TensorShape([sizes[axis] for axis in (0, *self.dims)])

    def call(self, inputs: Any) -> Tensor:
        """Return the inputs with transposed axes."""
        return transpose(inputs, [0, *self.dims])


class RepeatVector(ConfiguredLayer):
    """A layer that repeats vectors [batch, size] `n` times: [batch, n, size]."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"Expected an integer value for `n`, got {n!r}")
        self.n = n
        self.keep_arguments(locals())
        self.input_spec = InputSpec(ndim=2)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [batch, n, size]."""
        batch, size = as_shape(input_shape).as_list()
        return TensorShape([batch, self.n, size])

    def call(self, inputs: Any) -> Tensor:
        """Return the inputs with each vector repeated `n` times, along a new second axis."""
        return tile(expand_dims(inputs, 1), [1, self.n, 1])


class ActivityRegularization(SameShape):
    """A layer that returns its inputs, and adds the penalty l1 * sum(|x|) + l2 * sum(x ** 2) of the
    inputs to the losses.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=L1L2(l1, l2), **kwargs)
        self.keep_arguments(locals())


class GaussianNoise(SameShape):
    """A layer that adds normally distributed noise of standard deviation `stddev` in training."""

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev
        self.keep_arguments(locals())

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Return the inputs plus noise in training, otherwise the inputs.

        Args:
          training: whether the layer is called for training. The default is the learning phase.
        """
        return in_training(
            lambda: inputs + random_normal(shape_of(inputs), 0.0, self.stddev, inputs.dtype),
            inputs,
            training,
        )


class GaussianDropout(SameShape):
    """A layer that multiplies inputs by normally distributed noise in training.

    The noise has mean 1 and standard deviation sqrt(rate / (1 - rate)). A `rate` outside of (0, 1)
    disables the noise.
    """

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self.keep_arguments(locals())

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Return the inputs multiplied by noise in training, otherwise the inputs.

        Args:
          training: whether the layer is called for training. The default is the learning phase.
        """
        if not 0 < self.rate < 1:
            return inputs
        deviation = math.sqrt(self.rate / (1.0 - self.rate))
        return in_training(
            lambda: inputs * random_normal(shape_of(inputs), 1.0, deviation, inputs.dtype),
            inputs,
            training,
        )


class AlphaDropout(SameShape):
    """Dropout in training that preserves the mean and variance of the outputs of `selu`.

    Dropped elements become the negative limit of `selu`, and the result is scaled and shifted.
    Klambauer, Unterthiner, Mayr and Hochreiter 2017, Self-Normalizing Neural Networks
    (arXiv:1706.02515).

    Args:
      rate: the probability of dropping an element.
      noise_shape: the shape of the random mask, which is broadcast to the inputs: elements along an
        axis of size 1 are dropped together.
    """

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self._argument_names = ("rate",)  # TensorFlow's configuration has only this argument

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Return the inputs with dropout in training, otherwise the inputs.

        Args:
          training: whether the layer is called for training. The default is the learning phase.
        """
        if not 0.0 < self.rate < 1.0:
            return inputs
        return in_training(lambda: self._dropped(inputs), inputs, training)

    def _dropped(self, inputs: Any) -> Any:
        saturation = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
        sizes = shape_of(inputs) if self.noise_shape is None else self.noise_shape
        kept = cast(random_uniform(sizes, seed=self.seed) >= self.rate, inputs.dtype.base_dtype)
        scale = ((1 - self.rate) * (1 + self.rate * saturation**2)) ** -0.5
        dropped = inputs * kept + saturation * (1 - kept)
        return scale * dropped - scale * saturation * self.rate


def in_training(function: Callable[[], Tensor], inputs: Any, training: Any) -> Tensor:
    """Return `function()` in training, otherwise `inputs`.

    Args:
      training: a bool or a tensor; None means the learning phase.
    """
    phase = learning_phase() if training is None else training
    return smart_cond(phase, function, lambda: inputs + 0)

"""Initializers, which are callables that return the initial value of a variable of a given shape.

`init(shape, dtype=None, partition_info=None)` returns a tensor. The argument `dtype` overrides the
constructor's dtype. For a part of a partitioned variable, `partition_info` describes the whole
variable.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.linalg.matmul import matrix_transpose
from gpugraph.ops.random.random_ops import random_normal, random_uniform, truncated_normal

_TRUNCATED_STDDEV = 0.87962566103423978
"""The standard deviation of a standard normal truncated at two standard deviations."""


class Initializer:
    """The base class of initializers. A call returns a tensor of a given shape and dtype."""

    floating_only = False
    """Whether calls and the constructor raise ValueError for dtypes that are not floating point."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype: DType = self._check_dtype(dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, with the dtype as a name."""
        names = inspect.signature(type(self)).parameters
        config = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return {**config, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Return an initializer whose arguments are a result of `get_config`."""
        return cls(**config)

    def _check_dtype(self, dtype: Any) -> DType:
        base_dtype = as_dtype(dtype).base_dtype
        if self.floating_only and not base_dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {base_dtype.name}.")
        return base_dtype

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Return a tensor of `shape`.

        For a partition of a variable, a scale that depends on the shape is computed from the shape
        of the whole variable.
        """
        full = shape if partition_info is None else partition_info.full_shape
        return self._make(shape, self.dtype if dtype is None else self._check_dtype(dtype), full)

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _make")


class Zeros(Initializer):
    """An initializer that returns zeros.

    >>> session.run(tf.zeros_initializer()([2]))
    array([0., 0.], dtype=float32)
    """

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        return zeros(shape, dtype)


class Ones(Initializer):
    """An initializer that returns ones.

    >>> session.run(tf.ones_initializer()([2]))
    array([1., 1.], dtype=float32)
    """

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        return ones(shape, dtype)


class Constant(Initializer):
    """An initializer that returns a constant. `value` is one number for all elements, or a list of
    numbers in row-major order.

    Args:
      verify_shape: whether the values must have exactly the requested shape. If not, and there are
        too few values, the last value fills the remaining elements.

    >>> session.run(tf.constant_initializer(0.5)([2]))
    array([0.5, 0.5], dtype=float32)
    """

    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray, type(None)))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)}; it must be a Python scalar, a "
                "list or tuple of values, or a numpy.ndarray"
            )
        super().__init__(dtype)
        self.value = value
        self._verify_shape = verify_shape

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        return constant(self.value, dtype, shape, verify_shape=self._verify_shape)


class RandomUniform(Initializer):
    """An initializer that draws uniformly from [minval, maxval).

    For floats, maxval is 1 by default.

    >>> session.run(tf.random_uniform_initializer(seed=1)([2])).shape
    (2,)
    """

    def __init__(
        self,
        minval: Any = 0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


class _Normal(Initializer):
    floating_only = True

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(dtype)
        self.mean, self.stddev, self.seed = mean, stddev, seed


class RandomNormal(_Normal):
    """An initializer that draws normal numbers with `mean` and `stddev`.

    >>> session.run(tf.random_normal_initializer(seed=1)([2])).shape
    (2,)
    """

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        return random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class TruncatedNormal(_Normal):
    """An initializer that draws normal numbers within two standard deviations from the mean.

    >>> session.run(tf.truncated_normal_initializer(seed=1)([2, 2])).shape
    (2, 2)
    """

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        return truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class VarianceScaling(Initializer):
    """An initializer that draws numbers with the variance `scale / n`.

    The constructor raises ValueError if the mode or the distribution is unknown, or if the scale is
    not positive.

    Args:
      mode: the meaning of n. It is the fan-in ("fan_in"), the fan-out ("fan_out") or their mean
        ("fan_avg").
      distribution: "truncated_normal" (or "normal"), "untruncated_normal" or "uniform".

    >>> session.run(tf.variance_scaling_initializer(seed=1)([2, 2])).shape
    (2, 2)
    """

    floating_only = True

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(dtype)
        if scale <= 0.0:
            raise ValueError(f"`scale` must be a positive float, but it is {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode!r}")
        known = ("normal", "uniform", "truncated_normal", "untruncated_normal")
        if distribution not in known:
            raise ValueError(f"Invalid `distribution` argument: {distribution!r}; known: {known}")
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        fan_in, fan_out = _fans(as_shape(full_shape))
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}
        variance = self.scale / max(1.0, count[self.mode])
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, stddev, dtype, seed=self.seed)
        return truncated_normal(shape, 0.0, stddev / _TRUNCATED_STDDEV, dtype, seed=self.seed)


class UniformUnitScaling(Initializer):
    """An initializer that draws uniform numbers within +-`factor` sqrt(3 / n).

    n is the product of all sizes except the last. A linear layer with such weights preserves its
    input's scale. Source: Sussillo and Abbott, 2014.

    >>> session.run(tf.uniform_unit_scaling_initializer(seed=1)([2, 2])).shape
    (2, 2)
    """

    floating_only = True

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(dtype)
        self.factor, self.seed = factor, seed

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        count = float(max(1, math.prod(_known(as_shape(full_shape))[:-1])))
        limit = math.sqrt(3 / count) * self.factor
        return random_uniform(shape, -limit, limit, dtype, seed=self.seed)


class Orthogonal(Initializer):
    """An initializer that returns `gain` times a matrix with orthonormal rows or columns.

    If there are fewer columns than rows, the columns are orthonormal, otherwise the rows. The
    matrix is the Q of the QR decomposition of a matrix of normal numbers. The signs are chosen so
    that the diagonal of R is positive. The matrix is reshaped to the requested shape, whose last
    axis is its columns. Calls raise ValueError if the shape has fewer than two dimensions. Source:
    Saxe et al., 2014.
    """

    floating_only = True

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(dtype)
        self.gain, self.seed = gain, seed

    def _make(self, shape: Any, dtype: DType, full_shape: Any) -> Tensor:
        sizes = _known(as_shape(shape))
        if len(sizes) < 2:
            raise ValueError(f"An orthogonal tensor has at least two dimensions, not {sizes}")
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        tall = max(rows, columns), min(rows, columns)
        drawn = random_normal(tall, dtype=dtype, seed=self.seed)
        q, r = raw_ops.Qr(drawn, full_matrices=False)
        q = q * raw_ops.Sign(raw_ops.DiagPart(r))
        if rows < columns:
            q = matrix_transpose(q)
        return self.gain * reshape(q, shape)


class Identity(Initializer):
    """An initializer that returns a matrix with `gain` on the diagonal and 0 elsewhere.

    Calls raise ValueError unless the shape has two axes.
    """

    floating_only = True

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Return the matrix, or the partition of it that `partition_info` describes."""
        wanted = self.dtype if dtype is None else self._check_dtype(dtype)
        sizes = _known(as_shape(shape))
        if len(sizes) != 2:
            raise ValueError(f"An identity matrix has two dimensions, not those of {sizes}")
        row, column = (0, 0) if partition_info is None else partition_info.var_offset
        part = np.eye(sizes[0], sizes[1], row - column, dtype=wanted.as_numpy_dtype)
        return self.gain * constant(part, name="eye")


class GlorotUniform(VarianceScaling):
    """An initializer that draws uniform numbers within +-sqrt(6 / (fan-in + fan-out)).

    Source: Glorot and Bengio, 2010.
    """

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    """An initializer that draws truncated normal numbers of variance 2 / (fan-in + fan-out).

    Source: Glorot and Bengio, 2010.
    """

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Return an initializer that draws truncated normal numbers with the variance 2 / fan-in.
    Source: He et al., 2015.
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Return an initializer that draws uniform numbers within +-sqrt(6 / fan-in). Source: He et
    al., 2015.
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Return an initializer that draws truncated normal numbers with the variance 1 / fan-in.
    Source: LeCun et al., 1998.
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Return an initializer that draws uniform numbers within +-sqrt(3 / fan-in).

    Source: LeCun et al., 1998.
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def _fans(shape: TensorShape) -> tuple[float, float]:
    """Return (fan-in, fan-out) of a weight of this shape: the numbers of inputs and outputs of one
    unit of the layer.
    """
    sizes = _known(shape)
    if not sizes:
        return 1.0, 1.0
    if len(sizes) == 1:
        return float(sizes[0]), float(sizes[0])
    receptive = math.prod(sizes[:-2])
    return float(sizes[-2] * receptive), float(sizes[-1] * receptive)


def _known(shape: TensorShape) -> list[int]:
    """Return the sizes of `shape`. Raises ValueError unless all are known."""
    sizes = [size for size in shape.as_list() if size is not None]
    if len(sizes) != shape.rank:
        raise ValueError(f"The values follow from a fully defined shape, but it is {shape}")
    return sizes

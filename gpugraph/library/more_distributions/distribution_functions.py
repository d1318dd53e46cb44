"""Functions for distributions: percentiles, moving statistics, posteriors, functions of
matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import float64, int32
from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import derived_seed
from gpugraph.library.distributions.location_scale_distributions import Normal
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum
from gpugraph.ops.elementwise.unary_functions import (
    abs as absolute,
    ceil,
    exp,
    floor,
    log,
    sign,
    sqrt,
    square,
)
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.indexing.sort_and_search import sort
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part, matrix_set_diag
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_sum


def matrix_diag_transform(matrix: Any, transform: Any = None, name: str | None = None) -> Tensor:
    """Return the matrices with `transform` applied to their diagonals. If `transform` is None,
    return them unchanged.
    """
    with name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return matrix_set_diag(matrix, transform(matrix_diag_part(matrix)))


def tridiag(below: Any = None, diag: Any = None, above: Any = None, name: Any = None) -> Tensor:
    """Return matrices [..., n, n] with the given elements below, on and above the diagonal.

    Raises ValueError if all three arguments are None.

    Args:
      below, above: vectors of n - 1 elements.
    """
    if below is None and diag is None and above is None:
        raise ValueError("Must specify at least one of `below`, `diag` and `above`.")
    with name_scope(name, "tridiag", [below, diag, above]):
        parts: list[Any] = []
        for offset, vector in ((-1, below), (0, diag), (1, above)):
            if vector is not None:
                vector = convert_to_tensor(vector)
                zero = np.array(0, vector.dtype.as_numpy_dtype)
                size = np.array(-1, np.int32)
                place = np.array(offset, np.int32)
                parts.append(raw_ops.MatrixDiagV2(vector, place, size, size, zero))
        total: Tensor = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def reduce_weighted_logsumexp(
    logx: Any,
    w: Any = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """Return log |sum(w * exp(logx))|, where the sum is over `axis`. If `return_sign` is true, also
    return the sign of the sum.
    """
    with name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = convert_to_tensor(logx, name="logx")
        w = zeros_like(logx) + 1.0 if w is None else convert_to_tensor(w, logx.dtype, name="w")
        logs = logx + log(absolute(w))
        largest = reduce_max(logs, axis, keepdims=True)
        total = reduce_sum(sign(w) * exp(logs - largest), axis, keepdims=keep_dims)
        shift = largest if keep_dims else reshape(largest, shape(total))
        result = shift + log(absolute(total))
        return (result, sign(total)) if return_sign else result


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the q-th percentile of x along `axis`, by default of all elements.

    Raises ValueError if `interpolation` is unknown.

    Args:
      q: a number in [0, 100].
      interpolation: "nearest" (the default), "lower" or "higher".
    """
    del validate_args
    interpolation = interpolation or "nearest"
    kinds = {"lower": floor, "higher": ceil, "nearest": lambda place: floor(place + 0.5)}
    if interpolation not in kinds:
        raise ValueError(
            f"Argument 'interpolation' must be in {set(kinds)}.  Found {interpolation}"
        )
    with name_scope(name, "percentile", [x, q]):
        x = convert_to_tensor(x, name="x")
        q = cast(convert_to_tensor(q, name="q"), float64)
        rank = x.shape.ndims
        if axis is None:
            flat, kept = reshape(x, [-1]), rank
        else:
            if rank is None:
                raise ValueError("The rank of x must be known.")
            axes = [int(a) % rank for a in np.atleast_1d(axis)]
            others = [a for a in range(rank) if a not in axes]
            moved = transpose(x, [*others, *axes])
            flat = reshape(moved, concat([shape(moved)[: len(others)], [-1]], 0))
            kept = None
        ordered = sort(flat)
        count = cast(shape(ordered)[-1] - 1, float64)
        place = cast(kinds[interpolation](count * (q / 100.0)), int32)
        place = minimum(maximum(place, 0), shape(ordered)[-1] - 1)
        result = gather(ordered, place, axis=-1)
        if keep_dims:
            for place_of_axis in range(kept or 0) if axis is None else sorted(axes):
                result = expand_dims(result, place_of_axis)
        return result


def normal_conjugates_known_scale_posterior(prior: Any, scale: Any, s: Any, n: Any) -> Normal:
    """Return the posterior of the mean of a normal distribution with a known scale.

    The posterior is the distribution after n samples whose sum is s. Raises TypeError if `prior` is
    not a Normal.

    Args:
      prior: the prior distribution of the mean, a Normal.
    """
    if not isinstance(prior, Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    if s.dtype != prior.dtype:
        raise TypeError(f"Observation sum s.dtype does not match prior dtype: {s.dtype}")
    n = cast(n, prior.dtype)
    scale0, scale = square(prior.scale), square(scale)
    spread = 1.0 / (1.0 / scale0 + n / scale)
    return Normal(loc=(prior.loc / scale0 + s / scale) * spread, scale=sqrt(spread))


def normal_conjugates_known_scale_predictive(prior: Any, scale: Any, s: Any, n: Any) -> Normal:
    """Return the predictive distribution of the next sample, after n samples whose sum is s.

    Raises TypeError if `prior` is not a Normal.

    Args:
      prior: the prior distribution of the mean, a Normal.
    """
    posterior = normal_conjugates_known_scale_posterior(prior, scale, s, n)
    return Normal(loc=posterior.loc, scale=sqrt(square(posterior.scale) + square(scale)))


def assign_moving_mean_variance(
    mean_var: Any, variance_var: Any, value: Any, decay: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Update the variables of a running mean and a running variance with a new value.

    Return the mean and the variance after the update.
    """
    with name_scope(name, "assign_moving_mean_variance", [value, decay]):
        dtype = mean_var.dtype.base_dtype
        decay, value = convert_to_tensor(decay, dtype), convert_to_tensor(value, dtype)
        delta = value - mean_var
        with control_dependencies([delta]):
            mean = mean_var.assign_add((1.0 - decay) * delta)
            variance = variance_var.assign_sub(
                (1.0 - decay) * (variance_var - decay * square(delta))
            )
        return mean, variance


def assign_log_moving_mean_exp(
    log_mean_exp_var: Any, log_value: Any, decay: Any, name: str | None = None
) -> Any:
    """Move the variable of the logarithm of a mean towards log_value.

    Return the variable after the update.
    """
    with name_scope(name, "assign_log_moving_mean_exp", [log_value, decay]):
        dtype = log_mean_exp_var.dtype.base_dtype
        decay = convert_to_tensor(decay, dtype)
        delta = convert_to_tensor(log_value, dtype) - log_mean_exp_var
        largest = maximum(delta, 0.0)
        grown = log(decay * exp(-largest) + (1.0 - decay) * exp(delta - largest)) + largest
        return log_mean_exp_var.assign_add(grown)


def moving_mean_variance(
    value: Any, decay: Any, collections: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Create variables for the moving mean and the moving variance of a value.

    Return the mean and the variance after an update.
    """
    with variable_scope(name, "moving_mean_variance", [value, decay]):
        value = convert_to_tensor(value, name="value")
        options: dict[str, Any] = {
            "initializer": Zeros(),
            "trainable": False,
            "collections": collections or ["variables"],
        }
        mean, variance = (
            get_variable(key, shape=value.shape, dtype=value.dtype.base_dtype, **options)
            for key in ("mean", "variance")
        )
        return assign_moving_mean_variance(mean, variance, value, decay)


class SeedStream:
    """A sequence of seeds. Each seed is derived from the original seed, the salt and the index in
    the sequence.
    """

    def __init__(self, seed: Any, salt: str) -> None:
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt, self._count = salt, 0

    def __call__(self) -> int | None:
        """Return the next seed. If the original seed is None, return None."""
        self._count += 1
        text = f"{self._salt}{self._count}"
        return derived_seed(self._seed, text)

    @property
    def original_seed(self) -> Any:
        """The seed from which all seeds are derived."""
        return self._seed

    @property
    def salt(self) -> str:
        """The text that distinguishes streams with equal original seeds."""
        return self._salt

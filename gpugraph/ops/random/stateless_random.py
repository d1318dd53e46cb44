"""Stateless random ops, whose numbers depend only on a seed of two integers.

The same seed gives the same numbers in every run and in TensorFlow. Uniform numbers and integers
have the same bits. Normal numbers differ from TensorFlow's by a few units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext, Launch, OpMemory, Signature
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.bits_to_distributions import Law, normal, truncated_normal, uniform
from gpugraph.ops.random.native_random import with_native
from gpugraph.ops.random.random_launches import seed_launches
from gpugraph.ops.random.random_ops import (
    between,
    bounds,
    drawing_op,
    integer_bounds,
    integer_law,
    scale,
    sizes_of,
)
from gpugraph.ops.random.seeds_and_streams import INDEX, place_of_seed


def seed_shape_fault(shape: TensorShape) -> str:
    """Return an error message if a seed of this shape is invalid, or "" if it is valid."""
    return "" if shape.is_compatible_with((2,)) else f"seed must have shape [2], not {shape}"


def check_seed_shape(shape: Sequence[int]) -> None:
    """Raise InvalidArgumentError if a seed of this shape is invalid."""
    fault = seed_shape_fault(TensorShape.of(tuple(shape)))
    if fault:
        raise invalid_argument(fault)


def _infer(context: InferContext) -> Sequence[TensorShape]:
    fault = seed_shape_fault(context.shapes[1])
    if fault:
        raise ValueError(fault)
    return [context.value_as_shape(0)]


def _bind_fill(law: Law, seed: Any, out: Any) -> Callable[[], Any]:
    check_seed_shape(seed.shape)
    return lambda: law(place_of_seed(seed), out)


def _launch(law: str, signature: Signature) -> list[Launch]:
    check_seed_shape(signature.input_shapes[1])
    return seed_launches(law, signature)


def _stateless_op(name: str, law: Law, gpu_law: str, doc: str) -> OpFunction:
    def bind(context: KernelContext, seed: Any, out: Any) -> Callable[[], Any]:
        return _bind_fill(with_native(context, law, out), seed, out)

    return drawing_op(
        name,
        bind,
        partial(_launch, gpu_law),
        direct=True,
        inputs="shape: T, seed: Tseed",
        outputs="output: dtype",
        attrs={"dtype": FLOATING, "T": INDEX, "Tseed": INDEX},
        infer=_infer,
        doc=f"{doc} The numbers are determined by `seed`, two integers.",
    )


_uniform = _stateless_op("StatelessRandomUniform", uniform, "gg_uniform", "Uniform in [0, 1).")
_normal = _stateless_op("StatelessRandomNormal", normal, "gg_normal", "Normal: mean 0, stddev 1.")
_truncated_normal = _stateless_op(
    "StatelessTruncatedNormal",
    truncated_normal,
    "gg_truncated",
    "Normal: mean 0, stddev 1, none beyond 2.",
)


def _integers(context: KernelContext, seed: Any, out: Any) -> Callable[[], Any]:
    return _bind_fill(with_native(context, integer_law(context, 2), out), seed, out)


def _launch_integers(signature: Signature) -> list[Launch]:
    check_seed_shape(signature.input_shapes[1])
    return seed_launches("gg_integers", signature, integer_bounds(signature, 2))


_uniform_int = drawing_op(
    "StatelessRandomUniformInt",
    _integers,
    _launch_integers,
    inputs="shape: T, seed: Tseed, minval: dtype, maxval: dtype",
    outputs="output: dtype",
    attrs={"dtype": INDEX, "T": INDEX, "Tseed": INDEX},
    infer=_infer,
    memory=OpMemory(host_inputs=[0, 2, 3]),
    doc="Uniform integers from minval up to, but not including, maxval, determined by `seed`.",
)


# -- public functions


def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return uniform random numbers in [minval, maxval), of shape `shape`, determined by `seed`.

    Args:
      seed: two integers, or a tensor of two integers.
      maxval: the upper bound. For floating-point dtypes, it is 1 by default. It is required for
        int32 and int64. For these dtypes, a run raises InvalidArgumentError if minval >= maxval.
    """
    minval, maxval, wanted = bounds(minval, maxval, dtype)
    with op_scope(name, "stateless_random_uniform", shape, seed, minval, maxval) as scope:
        sizes = sizes_of(shape)
        low = convert_to_tensor(minval, wanted, "min")
        high = convert_to_tensor(maxval, wanted, "max")
        if wanted.is_integer:
            return _uniform_int(sizes, seed, low, high, name=scope)
        return between(low, high, _uniform(sizes, seed, dtype=wanted), scope)


def stateless_random_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return normal random numbers of shape `shape`. The numbers are determined by `seed`, which is
    two integers.
    """
    inputs = shape, mean, stddev
    default = "stateless_random_normal"
    return scale(_normal, default, inputs, dtype, name, lambda: {"seed": seed})


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return normal random numbers of shape `shape`. Numbers more than 2 stddev from the mean are
    redrawn.

    The numbers are determined by `seed`, which is two integers.
    """
    inputs = shape, mean, stddev
    default = "stateless_truncated_normal"
    return scale(_truncated_normal, default, inputs, dtype, name, lambda: {"seed": seed})

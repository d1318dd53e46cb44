"""Ops that draw uniform floats, normal floats and integers from the same streams as TensorFlow.

The same seed gives the same numbers as TensorFlow's CPU kernels. Uniform numbers and integers have
the same bits. Normal numbers differ by a few units in the last place, because the logarithm, sine
and cosine are computed in a different way. The result does not depend on devices, plans or threads.
Seeds are in `seeds_and_streams`, distributions in `bits_to_distributions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, Launch, OpMemory, Signature, Source
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope
from gpugraph.ops.framework.shape_functions import from_value, of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.bits_to_distributions import (
    Law,
    integers,
    normal,
    truncated_normal as truncated,
    uniform,
)
from gpugraph.ops.random.native_random import Draw
from gpugraph.ops.random.random_launches import stream_launches
from gpugraph.ops.random.seeds_and_streams import (
    DEFAULT_GRAPH_SEED as DEFAULT_GRAPH_SEED,
    INDEX,
    SEED_ATTRS,
    get_seed as get_seed,
    seeds_of,
    set_random_seed as set_random_seed,
    stream_of,
)

# -- ops


Bind = Callable[..., Callable[[], Any]]


def drawing_op(
    op_type: str,
    bind: Bind,
    launches: Callable[[Signature], list[Launch]],
    file: str = "random_distributions.cu",
    direct: bool = False,
    **declaration: Any,
) -> OpFunction:
    """Declare an op that draws random numbers. On GPUs it launches functions of `file`.

    By default input 0, the shape, is the only input in host memory.
    """
    call = Call(make=bind, direct=direct)
    declaration = {"memory": OpMemory(host_inputs=[0]), "grad": NO_GRADIENT, **declaration}
    return op(op_type, cpu=call, gpu=Source(file, launches, call), **declaration)


def _random_op(name: str, law: Law, gpu_law: str, doc: str) -> OpFunction:
    """Declare an op that fills a tensor with numbers of `law`. Its input is the tensor's shape.

    Args:
      gpu_law: the name of the law's CUDA function.
    """

    def bind(context: KernelContext, out: Any) -> Callable[[], Any]:
        return Draw(context, stream_of(context), law, out)

    return drawing_op(
        name,
        bind,
        partial(stream_launches, gpu_law),
        direct=True,
        inputs="shape: T",
        outputs="output: dtype",
        attrs={**SEED_ATTRS, "dtype": FLOATING, "T": INDEX},
        infer=from_value(0),
        stateful=True,
        doc=doc,
    )


_random_uniform = _random_op("RandomUniform", uniform, "gg_uniform", "Uniform in [0, 1).")
_random_normal = _random_op(
    "RandomStandardNormal", normal, "gg_normal", "Normal: mean 0, stddev 1."
)
_truncated_normal = _random_op(
    "TruncatedNormal", truncated, "gg_truncated", "Normal: mean 0, stddev 1, none beyond 2."
)


def integer_bounds(signature: Signature, first: int) -> tuple[int, int]:
    """Return (minimum, maximum), the values of the inputs `first` and `first` + 1, which are in
    host memory.

    Raises InvalidArgumentError unless both are scalars, and the minimum is less than the maximum.
    """
    low, high = (signature.value(index) for index in (first, first + 1))
    for name, bound in (("minval", low), ("maxval", high)):
        if bound.shape != ():
            raise invalid_argument(f"{name} must be 0-D, got shape {shape_text(bound.shape)}")
    if low >= high and prod(signature.output_shapes[0]):
        raise invalid_argument(f"Need minval < maxval, got {low} >= {high}")
    return int(low), int(high)


def integer_law(context: KernelContext, first: int) -> Law:
    """Return the law of integers between the values of the inputs `first` and `first` + 1, which
    are in host memory.
    """
    return integers(*integer_bounds(context, first))


def _integers(context: KernelContext, out: Any) -> Callable[[], Any]:
    return Draw(context, stream_of(context), integer_law(context, 1), out)


def _launch_integers(signature: Signature) -> list[Launch]:
    return stream_launches("gg_integers", signature, integer_bounds(signature, 1))


def _infer_integers(context: InferContext) -> Sequence[TensorShape]:
    for shape in context.shapes[1:]:
        of_rank(shape, 0, "minval and maxval are scalars")
    return from_value(0)(context)


_random_uniform_int = drawing_op(
    "RandomUniformInt",
    _integers,
    _launch_integers,
    inputs="shape: T, minval: Tout, maxval: Tout",
    outputs="output: Tout",
    attrs={**SEED_ATTRS, "Tout": INDEX, "T": INDEX},
    infer=_infer_integers,
    memory=OpMemory(host_inputs=[0, 1, 2]),
    stateful=True,
    doc="Uniform integers from minval up to, but not including, maxval.",
)


# -- public functions


def sizes_of(shape: Any) -> Tensor:
    """Return a shape as a tensor, a vector of integers."""
    return convert_to_tensor(int_argument(shape), name="shape")


def bounds(minval: Any, maxval: Any, dtype: Any) -> tuple[Any, Any, DType]:
    """Return (minval, maxval, dtype) of uniform numbers. If `maxval` is None, it is replaced by the
    default.

    Raises ValueError if the dtype is not supported, or if it is an integer dtype and there is no
    `maxval`.
    """
    wanted = as_dtype(dtype)
    if wanted not in (*FLOATING, *INDEX):
        raise ValueError(f"Invalid dtype {wanted!r}")
    if maxval is None:
        if wanted.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {wanted!r}")
        maxval = 1
    return minval, maxval, wanted


def between(low: Tensor, high: Tensor, unit: Tensor, name: str) -> Tensor:
    """Return low + unit * (high - low), a number in [low, high) for each `unit` in [0, 1)."""
    width = raw_ops.Sub(high, low, name="sub")
    return raw_ops.Add(raw_ops.Mul(unit, width, name="mul"), low, name=name)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return uniform random numbers in [minval, maxval), of shape `shape`.

    Args:
      maxval: the upper bound. For floating-point dtypes, it is 1 by default. It is required for
        int32 and int64. For these dtypes, a run raises InvalidArgumentError if minval >= maxval.

    >>> session.run(tf.random_uniform([2], maxval=10, dtype=tf.int32, seed=1)).shape
    (2,)
    """
    minval, maxval, wanted = bounds(minval, maxval, dtype)
    with op_scope(name, "random_uniform", shape, minval, maxval) as scope:
        sizes = sizes_of(shape)
        low = convert_to_tensor(minval, wanted, "min")
        high = convert_to_tensor(maxval, wanted, "max")
        seeds = seeds_of(seed)
        if wanted.is_integer:
            return _random_uniform_int(sizes, low, high, **seeds, name=scope)
        return between(low, high, _random_uniform(sizes, dtype=wanted, **seeds), scope)


def scale(
    function: OpFunction,
    default: str,
    inputs: tuple[Any, Any, Any],
    dtype: Any,
    name: str | None,
    further: Callable[[], dict[str, Any]],
) -> Tensor:
    """Return the random numbers that `function` draws, multiplied by stddev, plus mean.

    Args:
      inputs: the inputs shape, mean and stddev.
      default: the operation's name if `name` is None.
      further: a function that returns additional keyword arguments of `function`. It is called
        after the inputs have been added to the graph, because a seed may depend on the number of
        ops in the graph.
    """
    wanted = as_dtype(dtype)
    with op_scope(name, default, *inputs) as scope:
        sizes = sizes_of(inputs[0])
        centre = convert_to_tensor(inputs[1], wanted, "mean")
        width = convert_to_tensor(inputs[2], wanted, "stddev")
        unit = function(sizes, dtype=wanted, **further())
        return raw_ops.Add(raw_ops.Mul(unit, width, name="mul"), centre, name=scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return normal random numbers of shape `shape`.

    >>> session.run(tf.random_normal([2, 3], seed=1)).shape
    (2, 3)
    """
    inputs = shape, mean, stddev
    return scale(_random_normal, "random_normal", inputs, dtype, name, lambda: seeds_of(seed))


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return normal random numbers of shape `shape`. Numbers more than 2 stddev from the mean are
    redrawn.

    >>> session.run(tf.truncated_normal([3], seed=1)).shape
    (3,)
    """
    inputs = shape, mean, stddev
    return scale(_truncated_normal, "truncated_normal", inputs, dtype, name, lambda: seeds_of(seed))

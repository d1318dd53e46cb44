"""Random numbers, and the seeds that make them the same again.

Each random op of a session has a stream of its own, which goes on from run to run: NumPy's
Philox generator (counter-based: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
2011), keyed by the op's two seeds; without seeds, by fresh entropy. The numbers are not
TensorFlow's, but their distributions and the rules of seeds are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpugraph import dtypes
from gpugraph.dtypes import FLOATING, as_dtype
from gpugraph.errors import InvalidArgumentError
from gpugraph.graph.client import Graph
from gpugraph.graph.stack import graph_stack
from gpugraph.graph.tensor import Tensor
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays import op_scope
from gpugraph.ops.call import OpFunction
from gpugraph.ops.convert import convert_to_tensor
from gpugraph.ops.declare import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.kernels import HostOnly
from gpugraph.ops.shape_functions import from_value

__all__ = ["DEFAULT_GRAPH_SEED", "get_seed", "random_normal", "random_uniform"]
__all__ += ["set_random_seed", "truncated_normal"]

DEFAULT_GRAPH_SEED = 87654321
"""The graph's seed where only an op has one."""

_LARGEST_SEED = 2**31 - 1
_MASK = 2**64 - 1


# -- seeds


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of a random op that is given `op_seed`, or (None, None).

    The graph's seed and the op's; where only the graph has one, the op's is the number of ops
    made so far; where only the op has one, the graph's is DEFAULT_GRAPH_SEED.
    """
    graph: Graph = graph_stack.top()
    if graph.seed is None:
        if op_seed is None:
            return None, None
        seeds = DEFAULT_GRAPH_SEED, op_seed % _LARGEST_SEED
    else:
        own = graph.version if op_seed is None else op_seed
        seeds = graph.seed % _LARGEST_SEED, own % _LARGEST_SEED
    return (0, _LARGEST_SEED) if seeds == (0, 0) else seeds  # (0, 0) would mean none


def set_random_seed(seed: int) -> None:
    """Sets the default graph's seed: random ops made from now on repeat themselves."""
    graph_stack.top().seed = seed


def _seeds(seed: int | None) -> dict[str, Any]:
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


# -- kernels


def _generator(context: KernelContext) -> np.random.Generator:
    """The stream of this op in this session."""
    seeds = context.attrs["seed"], context.attrs["seed2"]

    def make() -> np.random.Generator:
        if seeds == (0, 0):
            return np.random.Generator(np.random.Philox())
        key = np.array([seed & _MASK for seed in seeds], np.uint64)
        return np.random.Generator(np.random.Philox(key=key))

    generator: np.random.Generator = context.state(make)
    return generator


Draw = Callable[[Any, Any], None]
"""draw(generator, out): naming NumPy's generator here would load it with the package."""


def _normal(generator: np.random.Generator, out: Any) -> None:
    generator.standard_normal(dtype=out.dtype, out=out)


def _truncated(generator: np.random.Generator, out: Any) -> None:
    """Normal numbers; those beyond 2 are drawn again until none is left."""
    generator.standard_normal(dtype=out.dtype, out=out)
    flat = out.reshape(-1)
    beyond = np.flatnonzero(np.abs(flat) > 2)
    while beyond.size:
        flat[beyond] = generator.standard_normal(beyond.size, dtype=out.dtype)
        beyond = beyond[np.abs(flat[beyond]) > 2]


def _drawing(draw: Draw) -> Call:
    """float16 is drawn in float32 and rounded."""

    def make(context: KernelContext, out: Any) -> Callable[[], Any]:
        generator = _generator(context)
        if out.dtype != np.float16:
            return partial(draw, generator, out)
        buffer = context.scratch(out.shape, dtypes.float32)

        def run() -> None:
            draw(generator, buffer)
            np.copyto(out, buffer, casting="same_kind")

        return run

    return Call(make=make)


def _uniform(context: KernelContext, out: Any) -> Callable[[], Any]:
    generator = _generator(context)
    if out.dtype != np.float16:
        return partial(generator.random, dtype=out.dtype, out=out)

    def run() -> None:
        # Rounding to float16 could give 1: draw the 11 bits that it holds.
        bits = generator.integers(0, 2048, out.shape, np.uint16)
        np.divide(bits, 2048, out=out, casting="same_kind")

    return run


def _integers(context: KernelContext, out: Any) -> Callable[[], Any]:
    generator = _generator(context)
    low, high = int(context.value(1)), int(context.value(2))
    if low >= high:
        raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")

    def run() -> None:
        out[...] = generator.integers(low, high, out.shape, out.dtype)

    return run


# -- ops

_ON_HOST = HostOnly("its stream of random numbers is NumPy's, which the host draws")
_SEED_ATTRS = {"seed": Attr("int", 0), "seed2": Attr("int", 0)}
_INDEX = (dtypes.int32, dtypes.int64)


def _random_op(name: str, cpu: Call, doc: str) -> OpFunction:
    return op(
        name,
        inputs="shape: T",
        outputs="output: dtype",
        attrs={**_SEED_ATTRS, "dtype": FLOATING, "T": _INDEX},
        infer=from_value(0),
        host=[0],
        cpu=cpu,
        gpu=_ON_HOST,
        grad=NO_GRADIENT,
        stateful=True,
        doc=doc,
    )


_random_uniform = _random_op("RandomUniform", Call(make=_uniform), "Uniform in [0, 1).")
_random_normal = _random_op("RandomStandardNormal", _drawing(_normal), "Normal: mean 0, stddev 1.")
_truncated_normal = _random_op(
    "TruncatedNormal", _drawing(_truncated), "Normal: mean 0, stddev 1, none beyond 2."
)
_random_uniform_int = op(
    "RandomUniformInt",
    inputs="shape: T, minval: Tout, maxval: Tout",
    outputs="output: Tout",
    attrs={**_SEED_ATTRS, "Tout": _INDEX, "T": _INDEX},
    infer=from_value(0),
    host=[0, 1, 2],
    cpu=Call(make=_integers),
    gpu=_ON_HOST,
    grad=NO_GRADIENT,
    stateful=True,
    doc="Uniform integers from minval up to, but not including, maxval.",
)


# -- public functions


def _shape(value: Any) -> Tensor:
    if isinstance(value, (list, tuple)) and not value:
        value = np.zeros(0, np.int32)
    return convert_to_tensor(value, name="shape")


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniform random numbers in [minval, maxval), of `shape`.

    `maxval` is 1 by default for floating point numbers, and must be given for int32 and int64
    (ValueError). InvalidArgumentError in a run for integers where minval >= maxval.
    """
    wanted = as_dtype(dtype)
    if wanted not in (*FLOATING, *_INDEX):
        raise ValueError(f"Invalid dtype {wanted!r}")
    if maxval is None:
        if wanted.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {wanted!r}")
        maxval = 1
    with op_scope(name, "random_uniform", shape, minval, maxval) as scope:
        sizes = _shape(shape)
        low = convert_to_tensor(minval, wanted, "min")
        high = convert_to_tensor(maxval, wanted, "max")
        seeds = _seeds(seed)
        if wanted.is_integer:
            made: Tensor = _random_uniform_int(sizes, low, high, **seeds, name=scope)
            return made
        unit = _random_uniform(sizes, dtype=wanted, **seeds)
        made = raw_ops.Add(
            raw_ops.Mul(unit, raw_ops.Sub(high, low, name="sub"), name="mul"), low, name=scope
        )
        return made


def _scaled(
    function: OpFunction,
    default: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Tensor:
    """Numbers of mean 0 and deviation 1, stretched by `stddev` and moved by `mean`."""
    wanted = as_dtype(dtype)
    with op_scope(name, default, shape, mean, stddev) as scope:
        sizes = _shape(shape)
        centre = convert_to_tensor(mean, wanted, "mean")
        width = convert_to_tensor(stddev, wanted, "stddev")
        unit = function(sizes, dtype=wanted, **_seeds(seed))
        made: Tensor = raw_ops.Add(raw_ops.Mul(unit, width, name="mul"), centre, name=scope)
        return made


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed random numbers of `shape`."""
    return _scaled(_random_normal, "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed random numbers of `shape`, none further than 2 stddev from the mean."""
    return _scaled(_truncated_normal, "truncated_normal", shape, mean, stddev, dtype, seed, name)

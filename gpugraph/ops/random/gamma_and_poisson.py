"""Ops and functions that draw numbers with gamma and Poisson distributions by `rejection_sampling`.

The same seed gives the same numbers as in TensorFlow, except for the last bits of float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.native_random import drawing
from gpugraph.ops.random.philox import Philox
from gpugraph.ops.random.rejection_sampling import gamma, poisson
from gpugraph.ops.random.seeds_and_streams import INDEX, RESERVED, SEED_ATTRS, seeds_of, stream_of

_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)
_REAL = (*_FLOATS, dtypes.int32, dtypes.int64)


def _infer(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape that input 0 contains, followed by the shape of the parameters, input 1."""
    first, second = context.value_as_shape(0).sizes, context.shapes[1].sizes
    if first is None or second is None:
        return [TensorShape.of(None)]
    return [TensorShape.of((*first, *second))]


def _drawing(law: Callable[[Philox, Any], Any], native: str) -> Call:
    """Return the kernel of an op that draws equally many random numbers for each parameter.

    Args:
      law: a function that receives a position of the generator and an array of parameters, and
        draws a number for each parameter.
      native: the name of the C function that draws the same numbers.
    """

    def make(context: KernelContext, parameters: Any, out: Any) -> Callable[[], Any]:
        stream, kinds = stream_of(context), parameters.size
        count = out.size // max(kinds, 1)
        draw = drawing(context, native, law)

        def run() -> None:
            if out.size:
                wide = np.repeat(parameters.reshape(-1).astype(np.float64), count)
                drawn = draw(stream.reserve(out.size * RESERVED), wide)
                out.reshape(count, kinds)[...] = drawn.reshape(kinds, count).T

        return run

    return Call(make=make)


def _gamma_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradient of alpha, which is a sum over the numbers that were drawn for each alpha.

    Each number changes with alpha in such a way that the probability of smaller numbers stays the
    same (Figurnov and others, "Implicit reparameterization gradients", 2018).
    """
    sizes, alpha = op.inputs
    slope = raw_ops.Mul(dy, raw_ops.RandomGammaGrad(alpha, op.outputs[0]))
    return [None, raw_ops.Sum(slope, raw_ops.Range(0, raw_ops.Size(sizes), 1))]


_SHARED: dict[str, Any] = {"infer": _infer, "memory": OpMemory(host_inputs=[0]), "stateful": True}
_random_gamma = op(
    "RandomGamma",
    inputs="shape: S, alpha: T",
    outputs="output: T",
    attrs={**SEED_ATTRS, "S": INDEX, "T": _FLOATS},
    cpu=_drawing(gamma, "gg_gamma"),
    gpu=_drawing(gamma, "gg_gamma"),
    grad=_gamma_back,
    doc=(
        "Random numbers with gamma distributions of rate 1 and the shape parameters alpha: "
        "[*shape, *alpha.shape]."
    ),
    **_SHARED,
)
_random_poisson = op(
    "RandomPoissonV2",
    inputs="shape: S, rate: R",
    outputs="output: dtype",
    attrs={
        **SEED_ATTRS,
        "S": INDEX,
        "R": _REAL,
        "dtype": Attr("type", dtypes.int64, allowed=_REAL),
    },
    cpu=_drawing(poisson, "gg_poisson"),
    gpu=_drawing(poisson, "gg_poisson"),
    grad=NO_GRADIENT,
    doc="Random numbers with Poisson distributions of these rates: [*shape, *rate.shape].",
    **_SHARED,
)


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return random numbers with a gamma distribution: `shape` numbers for each pair of alpha and
    beta.

    `alpha` and `beta` are broadcast to a common shape. The shape of the result is `shape`, followed
    by this common shape. `alpha` and `beta` have gradients, but the gradient of a float16 alpha
    raises TypeError.

    Args:
      alpha: the shape parameter, above 0. For other values, the result is NaN.
      beta: the rate, 1 by default.
    """
    with op_scope(name, "random_gamma", shape, alpha, beta):
        sizes = convert_to_tensor(int_argument(shape), dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        drawn = _random_gamma(sizes, alpha + zeros_like(beta), **seeds_of(seed))
        smallest = np.finfo(alpha.dtype.as_numpy_dtype).tiny
        return raw_ops.Maximum(smallest, drawn / beta)


def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return random numbers with a Poisson distribution: `shape` numbers for each rate in `lam`.

    The shape of the result is `shape`, followed by the shape of `lam`. If a rate is negative or not
    finite, the result is NaN.

    Args:
      dtype: a floating dtype, int32 or int64.
    """
    with op_scope(name, "random_poisson", lam, shape):
        sizes = convert_to_tensor(int_argument(shape), dtypes.int32, name="shape")
        return _random_poisson(sizes, lam, dtype=dtype, **seeds_of(seed))

"""The optimizers' updates of variables: one op each, in place.

Inputs named by reference are the variable and its slots; the output is the variable. Shapes and
hyperparameters are checked, and temporaries allocated, before a step begins, so a variable is
never left half-written. All arithmetic is in the variable's own dtype, in TensorFlow's order of
operations. On the CPU large variables are updated piece by piece, so that the temporaries stay in
the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, Kernel, KernelContext, Signature
from gpugraph.ops.framework.formula_terms import Formula, Term, decomposition
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import SCALAR

_PIECE = 1 << 15
"""Elements updated at a time: a few arrays of them fit into a core's cache."""

Update = Callable[..., None]
"""update(scalars, temporaries, *arrays) of one piece of the variable, its slots, its gradient."""


def _infer(arrays: Sequence[int]) -> Callable[[InferContext], Sequence[TensorShape]]:
    """Inputs `arrays` have one shape, that of the output; all others are scalars."""

    def infer(context: InferContext) -> Sequence[TensorShape]:
        whole = context.shapes[0]
        for index, shape in enumerate(context.shapes):
            if index in arrays:
                whole = whole.merge_with(shape)
            elif not shape.is_compatible_with(SCALAR):
                raise ValueError(f"Input {index} must be a scalar but is of shape {shape}")
        return [whole]

    return infer


def _bind(
    update: Update,
    arrays: Sequence[int],
    temporaries: int,
    piece: int | None,
    context: KernelContext,
    *inputs: Any,
) -> Callable[[], Any]:
    """What updates the whole variable: `update` of all its pieces, the scalars computed once."""
    *given, _ = inputs  # the output is the variable
    scalars = [value for index, value in enumerate(given) if index not in arrays]
    flat = [given[index].reshape(-1) for index in arrays]
    size = flat[0].size
    step = size if piece is None else min(size, piece)
    dtype = context.input_types[0].base_dtype
    room = [context.scratch((step,), dtype) for _ in range(temporaries)]
    starts = range(0, size, max(step, 1))
    pieces = [
        ([each[: min(step, size - at)] for each in room], [x[at : at + step] for x in flat])
        for at in starts
    ]
    return partial(_run, partial(update, dict(context.attrs)), scalars, pieces)


def _run(update: Update, scalars: Sequence[Any], pieces: Sequence[Any]) -> None:
    values = [scalar[()] for scalar in scalars]
    for room, parts in pieces:
        update(values, room, *parts)


def _kernels(update: Update, arrays: Sequence[int], temporaries: int) -> dict[str, Any]:
    return {
        "cpu": Call(make=partial(_bind, update, arrays, temporaries, _PIECE)),
        "gpu": Call(make=partial(_bind, update, arrays, temporaries, None)),
    }


UPDATES: dict[str, tuple[Update, int]] = {}
"""How each optimizer changes variable and slots, and how many temporaries it takes."""


def declare_update(
    name: str,
    inputs: str,
    arrays: Sequence[int],
    update: Update,
    temporaries: int,
    formula: Formula,
    doc: str,
    **attrs: Any,
) -> OpFunction:
    """Declares the op type `Apply<name>`; `arrays` are variable, slots and gradient.

    `formula` says the same as `update` in texts: of all inputs, the new variable and slots.
    """
    UPDATES[name] = update, temporaries
    return op(
        f"Apply{name}",
        inputs=inputs,
        attrs={**_ATTRS, **attrs},
        infer=_infer(arrays),
        writes=arrays[:-1],
        **_kernels(update, arrays, temporaries),
        native=decomposition(formula),
        **_COMMON,
        doc=doc,
    )


_ATTRS = {"T": FLOATING, "use_locking": Attr("bool", False)}
_COMMON: dict[str, Any] = {
    "outputs": "out: Ref(T)",
    "view": {0: 0},
    "grad": NO_GRADIENT,
    "stateful": True,
}


# -- gradient descent


def _descend(_: Any, scalars: Sequence[Any], room: Sequence[Any], var: Any, delta: Any) -> None:
    (step,) = room
    np.multiply(delta, scalars[0], out=step)
    np.subtract(var, step, out=var)


_DESCEND = _kernels(_descend, (0, 2), 1)
_DESCEND_ON_GPU: Kernel = Elementwise("x - y * z", _DESCEND["gpu"])

apply_gradient_descent = op(
    "ApplyGradientDescent",
    inputs="var: Ref(T), alpha: T, delta: T",
    attrs=_ATTRS,
    infer=_infer((0, 2)),
    writes=[0],
    cpu=_DESCEND["cpu"],
    gpu=_DESCEND_ON_GPU,
    **_COMMON,
    doc="var -= alpha * delta",
)


# -- momentum


def _momentum(
    attrs: Any, scalars: Sequence[Any], room: Sequence[Any], var: Any, accum: Any, grad: Any
) -> None:
    rate, momentum = scalars
    step, other = room
    np.multiply(accum, momentum, out=accum)
    np.add(accum, grad, out=accum)
    if attrs["use_nesterov"]:
        np.multiply(grad, rate, out=step)
        np.multiply(accum, momentum, out=other)
        np.multiply(other, rate, out=other)
        np.add(step, other, out=step)
    else:
        np.multiply(accum, rate, out=step)
    np.subtract(var, step, out=var)


def _momentum_terms(
    signature: Signature, var: Term, accum: Term, rate: Term, grad: Term, momentum: Term
) -> list[Term]:
    accum = accum * momentum + grad
    if signature.attrs["use_nesterov"]:
        return [var - (grad * rate + accum * momentum * rate), accum]
    return [var - accum * rate, accum]


apply_momentum = declare_update(
    "Momentum",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T",
    (0, 1, 3),
    _momentum,
    2,
    _momentum_terms,
    use_nesterov=Attr("bool", False),
    doc="accum = accum * momentum + grad; var -= lr * accum, "
    "or with use_nesterov var -= lr * grad + lr * momentum * accum.",
)


# -- adam


def _adam(
    attrs: Any, scalars: Sequence[Any], room: Sequence[Any], var: Any, m: Any, v: Any, grad: Any
) -> None:
    beta1_power, beta2_power, rate, beta1, beta2, epsilon = scalars
    step, other = room
    one = var.dtype.type(1)
    alpha = rate * np.sqrt(one - beta2_power) / (one - beta1_power)
    np.subtract(grad, m, out=step)
    np.multiply(step, one - beta1, out=step)
    np.add(m, step, out=m)
    np.multiply(grad, grad, out=step)
    np.subtract(step, v, out=step)
    np.multiply(step, one - beta2, out=step)
    np.add(v, step, out=v)
    if attrs["use_nesterov"]:
        np.multiply(grad, one - beta1, out=step)
        np.multiply(m, beta1, out=other)
        np.add(step, other, out=step)
        np.multiply(step, alpha, out=step)
    else:
        np.multiply(m, alpha, out=step)
    np.sqrt(v, out=other)
    np.add(other, epsilon, out=other)
    np.divide(step, other, out=step)
    np.subtract(var, step, out=var)


def _adam_terms(
    signature: Signature,
    var: Term,
    m: Term,
    v: Term,
    beta1_power: Term,
    beta2_power: Term,
    rate: Term,
    beta1: Term,
    beta2: Term,
    epsilon: Term,
    grad: Term,
) -> list[Term]:
    alpha = rate * (1 - beta2_power).sqrt() / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (grad * grad - v) * (1 - beta2)
    nesterov = signature.attrs["use_nesterov"]
    mean = grad * (1 - beta1) + m * beta1 if nesterov else m
    return [var - mean * alpha / (v.sqrt() + epsilon), m, v]


apply_adam = declare_update(
    "Adam",
    "var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, "
    "beta2: T, epsilon: T, grad: T",
    (0, 1, 2, 9),
    _adam,
    2,
    _adam_terms,
    use_nesterov=Attr("bool", False),
    doc="m += (grad - m) * (1 - beta1); v += (grad**2 - v) * (1 - beta2); "
    "var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon), "
    "with use_nesterov beta1 * m + (1 - beta1) * grad in place of the last m.",
)


# -- adagrad


def _adagrad(
    attrs: Any, scalars: Sequence[Any], room: Sequence[Any], var: Any, accum: Any, grad: Any
) -> None:
    step, other = room
    if attrs["update_slots"]:
        np.multiply(grad, grad, out=step)
        np.add(accum, step, out=accum)
    np.multiply(grad, scalars[0], out=step)
    np.sqrt(accum, out=other)
    np.divide(step, other, out=step)
    np.subtract(var, step, out=var)


def _adagrad_terms(
    signature: Signature, var: Term, accum: Term, rate: Term, grad: Term
) -> list[Term]:
    if signature.attrs["update_slots"]:
        accum = accum + grad * grad
    return [var - grad * rate / accum.sqrt(), accum]


apply_adagrad = declare_update(
    "Adagrad",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T",
    (0, 1, 3),
    _adagrad,
    2,
    _adagrad_terms,
    update_slots=Attr("bool", True),
    doc="accum += grad**2 (unless update_slots is false); var -= lr * grad / sqrt(accum)",
)


# -- rmsprop


def _rms_prop(
    _: Any, scalars: Sequence[Any], room: Sequence[Any], var: Any, ms: Any, mom: Any, grad: Any
) -> None:
    rate, rho, momentum, epsilon = scalars
    step, other = room
    np.multiply(grad, grad, out=step)
    np.subtract(step, ms, out=step)
    np.multiply(step, var.dtype.type(1) - rho, out=step)
    np.add(ms, step, out=ms)
    np.multiply(grad, rate, out=step)
    np.add(ms, epsilon, out=other)
    np.sqrt(other, out=other)
    np.divide(step, other, out=step)
    np.multiply(mom, momentum, out=mom)
    np.add(mom, step, out=mom)
    np.subtract(var, mom, out=var)


def _rms_prop_terms(
    _: Signature,
    var: Term,
    ms: Term,
    mom: Term,
    rate: Term,
    rho: Term,
    momentum: Term,
    epsilon: Term,
    grad: Term,
) -> list[Term]:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * momentum + grad * rate / (ms + epsilon).sqrt()
    return [var - mom, ms, mom]


apply_rms_prop = declare_update(
    "RMSProp",
    "var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T",
    (0, 1, 2, 7),
    _rms_prop,
    2,
    _rms_prop_terms,
    doc="ms += (grad**2 - ms) * (1 - rho); "
    "mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom",
)

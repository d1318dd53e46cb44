"""More of the optimizers' updates of variables: by running means, and with regularization.

As in `training`, one op each, in place, in TensorFlow's order of operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.kernel import Signature
from gpugraph.ops.framework.formula_terms import Term
from gpugraph.ops.training.dense_updates import declare_update

Scalars = Sequence[Any]
Room = Sequence[Any]


def _mean(mean: Any, new: Any, rho: Any, step: Any) -> None:
    """mean = mean * rho + new * (1 - rho); `step` may be `new`."""
    np.multiply(mean, rho, out=mean)
    np.multiply(new, mean.dtype.type(1) - rho, out=step)
    np.add(mean, step, out=mean)


def _mean_terms(mean: Term, new: Term, rho: Term) -> Term:
    return mean * rho + new * (1 - rho)


# -- adadelta


def _adadelta(
    _: Any, scalars: Scalars, room: Room, var: Any, accum: Any, accum_update: Any, grad: Any
) -> None:
    rate, rho, epsilon = scalars
    step, other = room
    np.multiply(grad, grad, out=step)
    _mean(accum, step, rho, step)
    np.add(accum_update, epsilon, out=step)
    np.sqrt(step, out=step)
    np.add(accum, epsilon, out=other)
    np.sqrt(other, out=other)
    np.divide(step, other, out=step)
    np.multiply(step, grad, out=step)
    np.multiply(step, rate, out=other)
    np.subtract(var, other, out=var)
    np.multiply(step, step, out=step)
    _mean(accum_update, step, rho, step)


def _adadelta_terms(
    _: Signature,
    var: Term,
    accum: Term,
    accum_update: Term,
    rate: Term,
    rho: Term,
    epsilon: Term,
    grad: Term,
) -> list[Term]:
    accum = _mean_terms(accum, grad * grad, rho)
    step = (accum_update + epsilon).sqrt() / (accum + epsilon).sqrt() * grad
    return [var - step * rate, accum, _mean_terms(accum_update, step * step, rho)]


apply_adadelta = declare_update(
    "Adadelta",
    "var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T",
    (0, 1, 2, 6),
    _adadelta,
    2,
    _adadelta_terms,
    doc="accum = rho * accum + (1 - rho) * grad**2; "
    "update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad; "
    "accum_update = rho * accum_update + (1 - rho) * update**2; var -= lr * update",
)


# -- rmsprop


def _centered_rms_prop(
    _: Any, scalars: Scalars, room: Room, var: Any, mg: Any, ms: Any, mom: Any, grad: Any
) -> None:
    rate, rho, momentum, epsilon = scalars
    step, other = room
    rest = var.dtype.type(1) - rho
    np.multiply(grad, grad, out=step)
    np.subtract(step, ms, out=step)
    np.multiply(step, rest, out=step)
    np.add(ms, step, out=ms)
    np.subtract(grad, mg, out=step)
    np.multiply(step, rest, out=step)
    np.add(mg, step, out=mg)
    np.multiply(mg, mg, out=other)
    np.subtract(ms, other, out=other)
    np.add(other, epsilon, out=other)
    np.sqrt(other, out=other)
    np.multiply(grad, rate, out=step)
    np.divide(step, other, out=step)
    np.multiply(mom, momentum, out=mom)
    np.add(mom, step, out=mom)
    np.subtract(var, mom, out=var)


def _centered_rms_prop_terms(
    _: Signature,
    var: Term,
    mg: Term,
    ms: Term,
    mom: Term,
    rate: Term,
    rho: Term,
    momentum: Term,
    epsilon: Term,
    grad: Term,
) -> list[Term]:
    rest = 1 - rho
    ms = ms + (grad * grad - ms) * rest
    mg = mg + (grad - mg) * rest
    mom = mom * momentum + grad * rate / (ms - mg * mg + epsilon).sqrt()
    return [var - mom, mg, ms, mom]


apply_centered_rms_prop = declare_update(
    "CenteredRMSProp",
    "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T",
    (0, 1, 2, 3, 8),
    _centered_rms_prop,
    2,
    _centered_rms_prop_terms,
    doc="ms += (grad**2 - ms) * (1 - rho); mg += (grad - mg) * (1 - rho); "
    "mom = momentum * mom + lr * grad / sqrt(ms - mg**2 + epsilon); var -= mom",
)


# -- with l1 and l2 regularization


def _shrink(values: Any, by: Any, room: Any) -> None:
    """Brings `values` nearer to 0 by `by`, and no further."""
    np.abs(values, out=room)
    np.subtract(room, by, out=room)
    np.maximum(room, 0, out=room)
    np.sign(values, out=values)
    np.multiply(values, room, out=values)


def _sign(values: Term) -> Term:
    return values.apply("x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? (T)0 : x")


def _shrunk(values: Term, by: Term, if_positive: Term) -> Term:
    """`values` nearer to 0 by `by`, where the third number is above 0."""
    left = (values.apply("fabs(x)") - by).apply("x < (T)0 ? (T)0 : x")
    return (_sign(values) * left).apply("z > (T)0 ? x : y", values, if_positive)


def _adagrad_da(
    _: Any, scalars: Scalars, room: Room, var: Any, grads: Any, squares: Any, grad: Any
) -> None:
    rate, l1, l2, global_step = scalars
    step, other = room
    count = var.dtype.type(global_step)
    np.add(grads, grad, out=grads)
    np.multiply(grad, grad, out=step)
    np.add(squares, step, out=squares)
    np.copyto(step, grads)
    if l1 > 0:
        _shrink(step, l1 * count, other)
    np.multiply(step, -rate, out=step)
    np.sqrt(squares, out=other)
    np.add(other, l2 * count * rate, out=other)
    np.divide(step, other, out=var)


def _adagrad_da_terms(
    _: Signature,
    var: Term,
    grads: Term,
    squares: Term,
    grad: Term,
    rate: Term,
    l1: Term,
    l2: Term,
    global_step: Term,
) -> list[Term]:
    count = global_step.apply("(U)x", dtype=var.dtype)
    grads, squares = grads + grad, squares + grad * grad
    shrunk = _shrunk(grads, l1 * count, l1)
    return [shrunk * -rate / (squares.sqrt() + l2 * count * rate), grads, squares]


apply_adagrad_da = declare_update(
    "AdagradDA",
    "var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, "
    "lr: T, l1: T, l2: T, global_step: int64",
    (0, 1, 2, 3),
    _adagrad_da,
    2,
    _adagrad_da_terms,
    doc="g += grad; gg += grad**2; var = -lr * shrunk(g, l1 * step) / (sqrt(gg) + l2 * step * lr), "
    "where shrunk brings g nearer to 0 by so much, if l1 is above 0.",
)


def _ftrl(
    _: Any, scalars: Scalars, room: Room, var: Any, accum: Any, linear: Any, grad: Any
) -> None:
    rate, l1, l2, *shrinkage, power = scalars
    scale, step, new = room
    np.multiply(grad, grad, out=new)
    np.add(accum, new, out=new)
    _raise(new, -power, scale)
    _raise(accum, -power, step)
    np.copyto(accum, new)
    np.subtract(scale, step, out=step)
    np.divide(step, rate, out=step)
    np.multiply(step, var, out=step)
    np.subtract(grad, step, out=step)
    for strength in shrinkage:
        np.multiply(var, 2 * strength, out=new)
        np.add(step, new, out=step)
    np.add(linear, step, out=linear)
    np.divide(scale, rate, out=scale)
    np.add(scale, 2 * l2, out=scale)
    np.sign(linear, out=step)
    np.multiply(step, l1, out=step)
    np.subtract(step, linear, out=step)
    np.divide(step, scale, out=step)
    np.abs(linear, out=new)
    var.fill(0)
    np.copyto(var, step, where=new > l1)


def _raise(values: Any, power: Any, out: Any) -> None:
    if power == 0.5:
        np.sqrt(values, out=out)
    else:
        np.power(values, power, out=out)


def _ftrl_terms(
    _: Signature,
    var: Term,
    accum: Term,
    linear: Term,
    grad: Term,
    rate: Term,
    l1: Term,
    l2: Term,
    *others: Term,
) -> list[Term]:
    *shrinkage, power = others
    new = accum + grad * grad
    scale, before = (each.apply(_RAISED, -power) for each in (new, accum))
    step = grad - (scale - before) / rate * var
    for strength in shrinkage:
        step = step + var * (strength * 2)
    linear = linear + step
    step = (_sign(linear) * l1 - linear) / (scale / rate + l2 * 2)
    return [step.apply("fabs(y) > z ? x : (T)0", linear, l1), new, linear]


_RAISED = "y == (T)0.5 ? sqrt(x) : pow(x, y)"

_FTRL = (
    "linear += g - (new**-lr_power - accum**-lr_power) / lr * var, where new = accum + grad**2; "
    "var = (sign(linear) * l1 - linear) / (new**-lr_power / lr + 2 * l2) where |linear| > l1, "
    "else 0; accum = new"
)

apply_ftrl = declare_update(
    "Ftrl",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T",
    (0, 1, 2, 3),
    _ftrl,
    3,
    _ftrl_terms,
    doc=f"With g = grad: {_FTRL}. Source: McMahan et al., 2013.",
)
apply_ftrl_v2 = declare_update(
    "FtrlV2",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, "
    "lr_power: T",
    (0, 1, 2, 3),
    _ftrl,
    3,
    _ftrl_terms,
    doc=f"With g = grad + 2 * l2_shrinkage * var: {_FTRL}. Source: McMahan et al., 2013.",
)


def _proximal_descent(_: Any, scalars: Scalars, room: Room, var: Any, delta: Any) -> None:
    rate, l1, l2 = scalars
    step, other = room
    np.multiply(delta, rate, out=step)
    np.subtract(var, step, out=step)
    if l1 > 0:
        _shrink(step, rate * l1, other)
    np.divide(step, var.dtype.type(1) + l2 * rate, out=var)


def _proximal_descent_terms(
    _: Signature, var: Term, rate: Term, l1: Term, l2: Term, delta: Term
) -> list[Term]:
    step = _shrunk(var - delta * rate, rate * l1, l1)
    return [step / (l2 * rate + 1)]


apply_proximal_gradient_descent = declare_update(
    "ProximalGradientDescent",
    "var: Ref(T), alpha: T, l1: T, l2: T, delta: T",
    (0, 4),
    _proximal_descent,
    2,
    _proximal_descent_terms,
    doc="prox = var - alpha * delta; var = sign(prox) * max(|prox| - alpha * l1, 0) / "
    "(1 + alpha * l2). Source: Duchi and Singer, 2009.",
)


def _proximal_adagrad(
    _: Any, scalars: Scalars, room: Room, var: Any, accum: Any, grad: Any
) -> None:
    rate, l1, l2 = scalars
    step, other, rates = room
    np.multiply(grad, grad, out=step)
    np.add(accum, step, out=accum)
    np.sqrt(accum, out=rates)
    np.divide(rate, rates, out=rates)
    np.multiply(grad, rates, out=step)
    np.subtract(var, step, out=step)
    if l1 > 0:
        np.multiply(rates, l1, out=var)  # its old value is in `step` by now
        _shrink(step, var, other)
    np.multiply(rates, l2, out=rates)
    np.add(rates, 1, out=rates)
    np.divide(step, rates, out=var)


def _proximal_adagrad_terms(
    _: Signature, var: Term, accum: Term, rate: Term, l1: Term, l2: Term, grad: Term
) -> list[Term]:
    accum = accum + grad * grad
    rates = rate / accum.sqrt()
    step = _shrunk(var - grad * rates, rates * l1, l1)
    return [step / (rates * l2 + 1), accum]


apply_proximal_adagrad = declare_update(
    "ProximalAdagrad",
    "var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T",
    (0, 1, 5),
    _proximal_adagrad,
    3,
    _proximal_adagrad_terms,
    doc="accum += grad**2; prox = var - a * grad, where a = lr / sqrt(accum); "
    "var = sign(prox) * max(|prox| - a * l1, 0) / (1 + a * l2)",
)

"""Updates of optimizers with running means (Adadelta, CenteredRMSProp) or with l1 and l2
regularization.
"""

from __future__ import annotations

from gpugraph.kernel import Signature
from gpugraph.ops.framework.formula_terms import Term
from gpugraph.ops.training.dense_updates import declare_update
from gpugraph.ops.training.numpy_programs import IF_GREATER, IF_POSITIVE, NOT_NEGATIVE, RAISED, SIGN


def _mean(mean: Term, new: Term, rho: Term) -> Term:
    return mean * rho + new * (1 - rho)


def _adadelta(_: Signature, *inputs: Term) -> list[Term]:
    var, accum, accum_update, rate, rho, epsilon, grad = inputs
    accum = _mean(accum, grad * grad, rho)
    step = (accum_update + epsilon).sqrt() / (accum + epsilon).sqrt() * grad
    return [var - step * rate, accum, _mean(accum_update, step * step, rho)]


apply_adadelta = declare_update(
    "Adadelta",
    "var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T",
    _adadelta,
    doc="accum = rho * accum + (1 - rho) * grad**2; "
    "update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad; "
    "accum_update = rho * accum_update + (1 - rho) * update**2; var -= lr * update",
)


def _centered_rms_prop(_: Signature, *inputs: Term) -> list[Term]:
    var, mg, ms, mom, rate, rho, momentum, epsilon, grad = inputs
    rest = 1 - rho
    ms = ms + (grad * grad - ms) * rest
    mg = mg + (grad - mg) * rest
    mom = mom * momentum + grad * rate / (ms - mg * mg + epsilon).sqrt()
    return [var - mom, mg, ms, mom]


apply_centered_rms_prop = declare_update(
    "CenteredRMSProp",
    "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T",
    _centered_rms_prop,
    doc="ms += (grad**2 - ms) * (1 - rho); mg += (grad - mg) * (1 - rho); "
    "mom = momentum * mom + lr * grad / sqrt(ms - mg**2 + epsilon); var -= mom",
)


def _shrunk(values: Term, distance: Term, if_positive: Term) -> Term:
    """Return `values` moved towards 0 by `distance`, but not beyond 0. If `if_positive` is not
    above 0, return `values` unchanged.
    """
    magnitude = (values.apply("fabs(x)") - distance).apply(NOT_NEGATIVE)
    return (values.apply(SIGN) * magnitude).apply(IF_POSITIVE, values, if_positive)


def _adagrad_da(_: Signature, *inputs: Term) -> list[Term]:
    var, grads, squares, grad, rate, l1, l2, global_step = inputs
    count = global_step.apply("(U)x", dtype=var.dtype)
    grads, squares = grads + grad, squares + grad * grad
    shrunk = _shrunk(grads, l1 * count, l1)
    return [shrunk * -rate / (squares.sqrt() + l2 * count * rate), grads, squares]


apply_adagrad_da = declare_update(
    "AdagradDA",
    "var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, "
    "lr: T, l1: T, l2: T, global_step: int64",
    _adagrad_da,
    doc="g += grad; gg += grad**2; var = -lr * shrunk(g, l1 * step) / (sqrt(gg) + l2 * step * lr), "
    "where shrunk moves g towards 0 by its second argument, if l1 is above 0.",
)


def _ftrl(_: Signature, *inputs: Term) -> list[Term]:
    var, accum, linear, grad, rate, l1, l2, *shrinkage, power = inputs
    new = accum + grad * grad
    scale, old_scale = new.apply(RAISED, -power), accum.apply(RAISED, -power)
    step = grad - (scale - old_scale) / rate * var
    for strength in shrinkage:
        step = step + var * (strength * 2)
    linear = linear + step
    step = (linear.apply(SIGN) * l1 - linear) / (scale / rate + l2 * 2)
    return [step.apply(IF_GREATER, linear.apply("fabs(x)"), l1), new, linear]


_FTRL = (
    "linear += g - (new**-lr_power - accum**-lr_power) / lr * var, where new = accum + grad**2; "
    "var = (sign(linear) * l1 - linear) / (new**-lr_power / lr + 2 * l2) where |linear| > l1, "
    "else 0; accum = new"
)

apply_ftrl = declare_update(
    "Ftrl",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T",
    _ftrl,
    doc=f"With g = grad: {_FTRL}. Source: McMahan et al., 2013.",
)
apply_ftrl_v2 = declare_update(
    "FtrlV2",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, "
    "lr_power: T",
    _ftrl,
    doc=f"With g = grad + 2 * l2_shrinkage * var: {_FTRL}. Source: McMahan et al., 2013.",
)


def _proximal_descent(_: Signature, *inputs: Term) -> list[Term]:
    var, rate, l1, l2, delta = inputs
    step = _shrunk(var - delta * rate, rate * l1, l1)
    return [step / (l2 * rate + 1)]


apply_proximal_gradient_descent = declare_update(
    "ProximalGradientDescent",
    "var: Ref(T), alpha: T, l1: T, l2: T, delta: T",
    _proximal_descent,
    doc="prox = var - alpha * delta; var = sign(prox) * max(|prox| - alpha * l1, 0) / "
    "(1 + alpha * l2). Source: Duchi and Singer, 2009.",
)


def _proximal_adagrad(_: Signature, *inputs: Term) -> list[Term]:
    var, accum, rate, l1, l2, grad = inputs
    accum = accum + grad * grad
    rates = rate / accum.sqrt()
    step = _shrunk(var - grad * rates, rates * l1, l1)
    return [step / (rates * l2 + 1), accum]


apply_proximal_adagrad = declare_update(
    "ProximalAdagrad",
    "var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T",
    _proximal_adagrad,
    doc="accum += grad**2; prox = var - a * grad, where a = lr / sqrt(accum); "
    "var = sign(prox) * max(|prox| - a * l1, 0) / (1 + a * l2)",
)

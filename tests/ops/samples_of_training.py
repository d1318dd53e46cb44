"""Samples of the optimizers' updates, whole variables and rows, with their formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .sampling import add, case, i32, i64

__all__ = ["FORMULAS"]

POSITIVE: dict[str, Any] = {"low": 0.3, "high": 2.3, "signed": False}


def momentum(arrays: Any, grad: Any, numbers: Any, use_nesterov: bool = False) -> Any:
    var, accum = arrays
    rate, factor = numbers
    accum = accum * factor + grad
    return var - (grad * rate + accum * factor * rate if use_nesterov else accum * rate), accum


def adagrad(arrays: Any, grad: Any, numbers: Any, update_slots: bool = True) -> Any:
    var, accum = arrays
    accum = accum + grad**2 if update_slots else accum
    return var - numbers[0] * grad / np.sqrt(accum), accum


def adadelta(arrays: Any, grad: Any, numbers: Any) -> Any:
    var, accum, accum_update = arrays
    rate, rho, epsilon = numbers
    accum = rho * accum + (1 - rho) * grad**2
    update = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    return var - rate * update, accum, rho * accum_update + (1 - rho) * update**2


def rms_prop(arrays: Any, grad: Any, numbers: Any) -> Any:
    var, ms, mom = arrays
    rate, rho, factor, epsilon = numbers
    ms = rho * ms + (1 - rho) * grad**2
    mom = factor * mom + rate * grad / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


def centered_rms_prop(arrays: Any, grad: Any, numbers: Any) -> Any:
    var, mg, ms, mom = arrays
    rate, rho, factor, epsilon = numbers
    ms = rho * ms + (1 - rho) * grad**2
    mg = rho * mg + (1 - rho) * grad
    mom = factor * mom + rate * grad / np.sqrt(ms - mg**2 + epsilon)
    return var - mom, mg, ms, mom


def shrunk(values: Any, by: Any) -> Any:
    return np.sign(values) * np.maximum(np.abs(values) - by, 0)


def adagrad_da(arrays: Any, grad: Any, numbers: Any) -> Any:
    _, grads, squares = arrays
    rate, l1, l2, step = numbers
    grads, squares = grads + grad, squares + grad**2
    var = -rate * shrunk(grads, l1 * step) / (np.sqrt(squares) + l2 * step * rate)
    return var, grads, squares


def ftrl(arrays: Any, grad: Any, numbers: Any) -> Any:
    var, accum, linear = arrays
    rate, l1, l2, *shrinkage, power = numbers
    new = accum + grad**2
    wanted = grad + 2 * sum(shrinkage) * var
    linear = linear + wanted - (new**-power - accum**-power) / rate * var
    var = (np.sign(linear) * l1 - linear) / (new**-power / rate + 2 * l2)
    return np.where(np.abs(linear) > l1, var, 0), new, linear


def proximal_descent(arrays: Any, grad: Any, numbers: Any) -> Any:
    rate, l1, l2 = numbers
    return (shrunk(arrays[0] - rate * grad, rate * l1) / (1 + rate * l2),)


def proximal_adagrad(arrays: Any, grad: Any, numbers: Any) -> Any:
    var, accum = arrays
    rate, l1, l2 = numbers
    accum = accum + grad**2
    rates = rate / np.sqrt(accum)
    return shrunk(var - rates * grad, rates * l1) / (1 + rates * l2), accum


# name: formula, how many variables, where the gradient comes among the numbers, numbers, attrs
FORMULAS: dict[str, tuple[Any, int, int, tuple[float, ...], tuple[dict[str, Any], ...]]] = {
    "Momentum": (momentum, 2, 1, (0.1, 0.9), ({}, {"use_nesterov": True})),
    "Adagrad": (adagrad, 2, 1, (0.1,), ({}, {"update_slots": False})),
    "Adadelta": (adadelta, 3, 3, (0.5, 0.9, 0.01), ({},)),
    "RMSProp": (rms_prop, 3, 4, (0.1, 0.9, 0.5, 1e-3), ({},)),
    "CenteredRMSProp": (centered_rms_prop, 4, 4, (0.1, 0.9, 0.5, 8.0), ({},)),
    "Ftrl": (ftrl, 3, 0, (0.1, 0.5, 0.1, -0.5), ({},)),
    "FtrlV2": (ftrl, 3, 0, (0.1, 0.5, 0.1, 0.25, -0.75), ({},)),
    "AdagradDA": (adagrad_da, 3, 0, (0.1, 0.2, 0.1, 3), ({},)),
    "ProximalGradientDescent": (proximal_descent, 1, 3, (0.5, 0.1, 0.2), ({},)),
    "ProximalAdagrad": (proximal_adagrad, 2, 3, (0.5, 0.1, 0.2), ({},)),
}
IN_SAMPLES = ("Momentum", "Adagrad", "RMSProp")
"""Of these `samples.py` has samples of whole variables."""


def _scalars(v: Any, name: str, numbers: Any) -> list[Any]:
    result = [np.array(number, v.dtype.as_numpy_dtype) for number in numbers]
    if name == "AdagradDA":
        result[-1] = np.array(numbers[-1], np.int64)
    return result


def _whole(name: str, shape: tuple[int, ...], attrs: dict[str, Any]) -> Callable[[Any], Any]:
    _, refs, place, numbers, _ = FORMULAS[name]

    def form(v: Any) -> Any:
        scalars = _scalars(v, name, numbers)
        arrays = [v(*shape) for _ in range(refs)]
        return case(*arrays, *scalars[:place], v(*shape), *scalars[place:], **attrs)

    return form


def _rows(
    name: str, shape: tuple[int, ...], index: Any, attrs: dict[str, Any]
) -> Callable[[Any], Any]:
    _, refs, place, numbers, _ = FORMULAS[name]

    def form(v: Any) -> Any:
        scalars = _scalars(v, name, numbers)
        arrays = [v(*shape) for _ in range(refs)]
        grad = v(index.size, *shape[1:])
        return case(*arrays, *scalars[:place], grad, index, *scalars[place:], **attrs)

    return form


def _of_whole(name: str) -> Callable[..., Any]:
    formula, refs, place, *_ = FORMULAS[name]

    def reference(*value: Any, **attrs: Any) -> Any:
        rest = list(value[refs:])
        grad = rest.pop(place)
        return formula(value[:refs], grad, rest, **attrs)

    return reference


def _of_rows(name: str) -> Callable[..., Any]:
    formula, refs, place, *_ = FORMULAS[name]

    def reference(*source: Any, **attrs: Any) -> Any:
        arrays, rest = [item.copy() for item in source[:refs]], list(source[refs:])
        grad, index = rest.pop(place), rest.pop(place)
        for row, step in zip(index.tolist(), grad, strict=True):
            new = formula([array[row] for array in arrays], step, rest, **attrs)
            for item, value in zip(arrays, new, strict=True):
                item[row] = value
        return tuple(arrays)

    return reference


for _name, (_, _, _, _, _attrs) in FORMULAS.items():
    for _each in _attrs:
        if _name not in IN_SAMPLES:
            add(
                f"Apply{_name}",
                *(_whole(_name, shape, _each) for shape in ((2, 3), (), (0, 2))),
                reference=_of_whole(_name),
                tolerance=8,
                **POSITIVE,
            )
        add(
            f"SparseApply{_name}",
            _rows(_name, (4, 2), i32(3, 0), _each),
            _rows(_name, (4,), i64(1, 2, 1, 1), _each),
            _rows(_name, (3, 2), i32(), _each),
            _rows(_name, (2, 0), i32(1), _each),
            reference=_of_rows(_name),
            tolerance=8,
            **POSITIVE,
        )

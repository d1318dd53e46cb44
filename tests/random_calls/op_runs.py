"""Random wrong inputs of ops: a sample of an op, of which one or two inputs or attrs are changed.

The static information of an input is random too: a constant, a placeholder of its shape, or one of
no known shape, so that errors come when the graph is built, when a run is compiled,
or in the kernel.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import gpugraph as tf
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.value_text import shown
from gpugraph.graph.op_def import OpDef
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from tests.ops.samples import TABLE

from .argument_values import WILD, array

__all__ = ["random_run"]

_OPS = sorted(name for name in TABLE if not name.startswith("_") and name != "Const")
_FORMS = ("constant", "fed", "open")  # open: of unknown rank
_SHAPES = ((), (0,), (1,), (2,), (5,), (2, 3), (3, 2), (0, 3), (1, 1, 1), (2, 2, 2, 2), (1,) * 6)
_NUMBERS = (0, -1, 1, 2, 5, -7, 100, 127, -(2**31), 2**40, 2**62, -(2**63))
_FLOATS = (float("nan"), float("inf"), -1.0, 0.0, 1e30, -1e300)


def _reshaped(chance: random.Random, value: np.ndarray) -> np.ndarray:
    shape = chance.choice(_SHAPES)
    return np.resize(value, shape) if value.size else array(as_dtype(value.dtype), shape)


def _revalued(chance: random.Random, value: np.ndarray) -> np.ndarray:
    """Return the array with one element, or all, of an extreme value."""
    kind = value.dtype.kind
    if not value.size or kind not in "iuf":
        return _reshaped(chance, value)
    number: Any = chance.choice(_FLOATS if kind == "f" else _NUMBERS)
    if kind != "f":
        limits = np.iinfo(value.dtype)
        number = min(max(number, limits.min), limits.max)
    result = np.array(value)
    with np.errstate(all="ignore"):
        if chance.random() < 0.5:
            result[...] = number
        else:
            result.reshape(-1)[chance.randrange(value.size)] = number
    return result


def _resized(chance: random.Random, value: np.ndarray) -> np.ndarray:
    """Return the array with an axis more or less, or another size of one."""
    choice = chance.randrange(4)
    if choice == 0 or value.ndim == 0:
        return value[None]
    if choice == 1 and value.shape[0]:
        return value[0]
    axis = chance.randrange(value.ndim)
    if choice == 2:
        return np.take(value, range(max(0, value.shape[axis] - 1)), axis)
    return np.concatenate([value, value], axis)


def _changed(chance: random.Random, value: np.ndarray) -> np.ndarray:
    change = chance.choice([_reshaped, _revalued, _revalued, _resized])
    return np.asarray(change(chance, value), value.dtype)


def random_run(chance: random.Random) -> tuple[str, Callable[[], tuple[str, Callable[[], Any]]]]:
    """Return an op type, and a function that makes its inputs and attrs: their text, and the op's
    adder.
    """
    op_type = chance.choice(_OPS)
    op_def = DECLARATIONS[op_type].op_def
    sample = chance.choice(TABLE[op_type].samples)
    inputs = [list(item) if isinstance(item, list) else [item] for item in sample.inputs]
    makers: dict[str, Any] = {}
    _spoil(chance, op_def, inputs, makers)
    forms = [[chance.choice(_FORMS) for _ in part] for part in inputs]

    def make() -> tuple[str, Callable[[], Any]]:
        attrs = {**sample.attrs, **{key: maker() for key, maker in makers.items()}}

        def add() -> Any:
            arguments: list[Any] = []
            for arg, source, part, form in zip(op_def.inputs, sample.inputs, inputs, forms):
                tensors = [
                    _variable(item) if arg.is_ref else _tensor(item, how)
                    for item, how in zip(part, form)
                ]
                arguments.append(tensors if isinstance(source, list) else tensors[0])
            return getattr(raw_ops, op_type)(*arguments, **attrs)

        return _text(inputs, forms, attrs), add

    return op_type, make


def _spoil(
    chance: random.Random, op_def: OpDef, inputs: list[list[np.ndarray]], makers: dict[str, Any]
) -> None:
    """Change one or two of the inputs, or gives attrs wild values."""
    places = [(part, index) for part in inputs for index in range(len(part))]
    derived = {key for arg in op_def.inputs for key in (arg.number_attr, arg.type_list_attr)}
    names = [
        key for key, attr in op_def.attrs.items() if attr.kind != "type" and key not in derived
    ]
    for _ in range(chance.choice([1, 1, 2])):
        if names and (not places or chance.random() < 0.3):
            makers[chance.choice(names)] = chance.choice(WILD)
        elif places:
            part, index = chance.choice(places)
            part[index] = _changed(chance, part[index])


def _text(inputs: Any, forms: Any, attrs: dict[str, Any]) -> str:
    parts = [
        f"{form} {item.dtype}{list(item.shape)}={item.reshape(-1).tolist()[:6]!r:.60}"
        for part, part_forms in zip(inputs, forms)
        for item, form in zip(part, part_forms)
    ]
    return ", ".join([*parts, *(f"{key}={shown(value):.60}" for key, value in attrs.items())])


def _tensor(value: np.ndarray, form: str) -> Any:
    constant = tf.constant(value, as_dtype(value.dtype))
    if form == "constant":
        return constant
    return tf.placeholder_with_default(constant, value.shape if form == "fed" else None)


def _variable(value: np.ndarray) -> Any:
    return tf.Variable(value, dtype=as_dtype(value.dtype), use_resource=False)

"""What layers have in common: how functions call them, and how sizes and formats are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.layers.base_layer import Layer
from gpugraph.ops.random.variable_initializers import Ones, Zeros

ONES, ZEROS = Ones(), Zeros()
"""What variables begin as by default, where it is not by the scope's initializer."""


def applied(layer: Callable[..., Layer], given: dict[str, Any], *call: str) -> Any:
    """A new layer, of a function's arguments, applied to the function's `inputs`.

    given: `locals()` of the function, whose arguments but `inputs`, `reuse` and those named in
      `call`, which its call takes, are those of the layer.
    """
    inputs = given.pop("inputs")
    called = {key: given.pop(key) for key in call}
    if "reuse" in given:  # it has variables: its scope is just the one that is named
        given["_reuse"] = given.pop("reuse")
        given["_scope"] = given["name"]
    return layer(**given).apply(inputs, **called)


def numbers(value: Any, count: int, name: str) -> tuple[int, ...]:
    """A number for all of `count` dimensions, or one for each; ValueError for anything else."""
    if isinstance(value, int):
        return (value,) * count
    try:
        found = tuple(int(each) for each in value)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {count} integers. Received: {value!r}"
        )
    return found


def channels_first(data_format: str) -> bool:
    """Whether channels come before the pixels; ValueError for an unknown format."""
    known = ("channels_first", "channels_last")
    if str(data_format).lower() not in known:
        raise ValueError(
            f"The `data_format` argument must be one of {', '.join(known)}. Received: {data_format}"
        )
    return str(data_format).lower() == known[0]


def padding_of(value: str) -> str:
    """ "VALID" or "SAME"; ValueError for another padding."""
    padding = str(value).upper()
    if padding not in ("VALID", "SAME"):
        raise ValueError(
            f'The `padding` argument must be a list/tuple or one of "valid", "same". Received: '
            f"{value}"
        )
    return padding

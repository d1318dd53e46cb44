"""Checks of tensors' shapes against a specification, in which all axes with the same symbol must
have the same size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.building.checks.build_time_values import prefix, shown_shape
from gpugraph.building.checks.rank_assertions import (
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
)
from gpugraph.building.control_flow import Assert, cond
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.comparison_and_select import equal
from gpugraph.ops.framework.identity_and_shape import rank, shape
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor

_ANY_NUMBER = (..., "*")
_ANY_SIZE = (None, ".")


class _Specified(NamedTuple):
    """A tensor, its sizes, and the shape specified for it. A size is an int, or a tensor if it is
    known only in the run.
    """

    tensor: Tensor
    sizes: Any
    symbols: tuple[Any, ...]

    @property
    def is_open(self) -> bool:
        """Whether the specified shape begins with `...` or "*", so that any number of axes may
        precede the specified ones.
        """
        return bool(self.symbols) and self.symbols[0] in _ANY_NUMBER

    @property
    def axes(self) -> list[tuple[int, Any]]:
        """The index and the symbol of each specified axis. If the shape is open, indices are
        relative to the end: the last axis is -1.
        """
        if self.is_open:
            return [(-1 - index, symbol) for index, symbol in enumerate(reversed(self.symbols[1:]))]
        return list(enumerate(self.symbols))


class _Size(NamedTuple):
    """The size that an axis must have and, for messages, a description of where it was
    specified.
    """

    value: Any
    source: str


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails unless the tensors have the specified shapes.

    Raises ValueError if a shape is malformed, or if known sizes differ. If the sizes are known only
    in the run, the run raises InvalidArgumentError.

    Args:
      shapes: a list of (tensor, shape), or a dict of shapes by tensor. A shape is a sequence with
        an element for each axis: an int; a symbol, which represents the same size wherever it
        occurs in `shapes`; or None or "." for any size. A string is treated as a sequence of its
        characters. If the first element is `...` or "*", the remaining elements specify the last
        axes. A scalar also matches the shape (1,). If a shape is None, its tensor is not checked.
    """
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    pairs = [(tensor, sizes) for tensor, sizes in pairs if sizes is not None]
    with name_scope(name, "assert_shapes", [tensor for tensor, _ in pairs]):
        tensors = [
            (tensor if isinstance(tensor, Tensor) else convert_to_tensor(tensor), sizes)
            for tensor, sizes in pairs
        ]
        symbols = [_symbols(tensor, sizes) for tensor, sizes in tensors]
        specified = [
            _Specified(tensor, _sizes(tensor), names)
            for (tensor, _), names in zip(tensors, symbols)
        ]
        options = {"data": data, "summarize": summarize, "message": message, "name": name}
        ranks = [check for item in specified for check in _rank_checks(item, options)]
        sizes = _size_checks(specified, ranks, data, summarize, message)
    return group(*ranks, *sizes)


def _symbols(tensor: Tensor, sizes: Any) -> tuple[Any, ...]:
    if not isinstance(sizes, Iterable):
        raise ValueError(
            f"Tensor {tensor.name}.  Specified shape must be an iterable.  An iterable has the "
            f"attribute `__iter__` or `__getitem__`.  Received specified shape: {sizes}"
        )
    symbols = tuple(getattr(size, "value", size) for size in sizes) or (1,)
    for index, symbol in enumerate(symbols):
        if index and symbol in _ANY_NUMBER:
            raise ValueError(
                f"Tensor {tensor.name} specified shape index {index}.  Symbol `...` or `*` for a "
                "variable number of unspecified dimensions is only allowed as the first entry"
            )
    return symbols


def _sizes(tensor: Tensor) -> Any:
    """Return the sizes of a tensor: a tuple of ints, with a scalar tensor in place of each unknown
    size. If the rank is unknown, return a vector that the run computes.

    A scalar has the sizes (1,), as if it had one axis.
    """
    dynamic, known = shape(tensor), tensor.shape.sizes
    if known is not None:
        return tuple(
            dynamic[index] if size is None else size for index, size in enumerate(known)
        ) or (1,)
    return cond(equal(rank(tensor), 0), lambda: constant([1]), lambda: dynamic)


def _rank_checks(item: _Specified, options: dict[str, Any]) -> list[Operation]:
    count = len(item.axes)
    if item.is_open:
        return [assert_rank_at_least(item.tensor, count, **options)] if count > 1 else []
    if count == 1:  # a scalar may be of size 1
        return [assert_rank_in(item.tensor, [0, 1], **options)]
    return [assert_rank(item.tensor, count, **options)]


def _size_checks(
    specified: Sequence[_Specified],
    ranks: Sequence[Operation],
    data: Any,
    summarize: int | None,
    message: str | None,
) -> list[Operation]:
    """Return operations that compare each size with the int specified for it, or with the first
    size that has the same symbol.

    The operations have the rank checks `ranks` as control inputs.
    """
    known: dict[Any, _Size] = {}
    checks = []
    for item in specified:
        for axis, symbol in item.axes:
            if symbol in _ANY_SIZE:
                continue
            with control_dependencies(ranks):
                size = item.sizes[axis]
            wanted = known.get(symbol, _literal(symbol))
            if wanted is None:
                source = f"Specified by tensor {item.tensor.name} dimension {axis}"
                known[symbol] = _Size(size, source)
                continue
            check = _size_check(item.tensor, axis, size, wanted, data, summarize, prefix(message))
            if check is not None:
                checks.append(check)
    return checks


def _literal(symbol: Any) -> _Size | None:
    try:
        return _Size(int(symbol), "Specified explicitly")
    except (TypeError, ValueError):
        return None


def _size_check(
    tensor: Tensor,
    axis: int,
    size: Any,
    wanted: _Size,
    data: Any,
    summarize: int | None,
    start: str,
) -> Operation | None:
    """Return the operation that compares one size with the size `wanted`. If both are known and
    equal, return None.

    Raises ValueError if both are known and differ.
    """
    if isinstance(size, int) and isinstance(wanted.value, int):
        if size == wanted.value:
            return None
        raise ValueError(
            f"{start}{wanted.source}.  Tensor {tensor.name} dimension {axis} must have size "
            f"{wanted.value}.  Received size {size}, shape {shown_shape(tensor)}"
        )
    condition = equal(convert_to_tensor(size), convert_to_tensor(wanted.value))
    if data is None:
        data = [
            start,
            wanted.source,
            f"Tensor {tensor.name} dimension",
            axis,
            "must have size",
            wanted.value,
            "Received shape: ",
            shape(tensor),
        ]
    return Assert(condition, data, summarize=summarize)

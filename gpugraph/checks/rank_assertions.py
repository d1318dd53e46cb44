"""Checks of ranks: at once where the rank is known, else in the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from gpugraph.base.dtypes import int32
from gpugraph.checks.build_time_values import prefix, shown_shape, static_value
from gpugraph.checks.type_assertions import assert_type
from gpugraph.control_flow import Assert
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import no_op, with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import equal, greater_equal, logical_or
from gpugraph.ops.framework.identity_and_shape import rank as rank_of, shape as shape_of
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_FINE = "static_checks_determined_all_ok"


def _checked(
    x: Tensor,
    ranks: Sequence[Tensor],
    holds: Callable[[int, list[int]], bool],
    condition: Callable[[Tensor], Tensor],
    refusal: Callable[[list[int]], str],
    data: Any,
    summarize: int | None,
) -> Operation:
    """The check of a rank against others, by what is known of all."""
    for each in ranks:
        assert_type(each, int32)
    known = [static_value(each) for each in ranks]
    if all(each is not None for each in known):
        if any(each.ndim for each in known):
            raise ValueError("Rank must be a scalar.")
        sizes, wanted = x.shape.sizes, [int(each) for each in known]
        if sizes is not None:
            if not holds(len(sizes), wanted):
                received = f"  Received rank {len(sizes)}, shape {shown_shape(x)}"
                raise ValueError(refusal(wanted) + received)
            return no_op(_FINE)
    found = condition(rank_of(x))
    for each, value in zip(ranks, known):
        if value is None:
            text = "Rank must be a scalar. Received rank: "
            check = assert_rank(each, 0, data=[text, each])
            found = with_dependencies([check], found)
    return Assert(found, data, summarize=summarize)


def _scope(name: str | None, default: str, x: Any, ranks: Sequence[Any], data: Any) -> name_scope:
    return name_scope(name, default, [x, *ranks, *(data or ())])


def _one_rank(
    x: Any,
    rank: Any,
    data: Any,
    summarize: int | None,
    message: str | None,
    words: str,
    holds: Callable[[int, int], bool],
    compare: Callable[..., Tensor],
) -> Operation:
    x, rank = convert_to_tensor(x, name="x"), convert_to_tensor(rank, name="rank")
    text = f"Tensor {x.name} must have {words}"
    if data is None:
        data = [prefix(message), text, rank, "Received shape: ", shape_of(x)]
    return _checked(
        x,
        [rank],
        lambda found, wanted: holds(found, wanted[0]),
        lambda found: compare(found, rank),
        lambda wanted: f"{prefix(message)}{text} {wanted[0]}.",
        data,
        summarize,
    )


def assert_rank(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless `x` has this rank, an int32 scalar.

    data: tensors for the message, instead of the shape; of each the first `summarize` elements.

    ValueError where rank and shape are known, else InvalidArgumentError in the run. TypeError for
    a rank of another dtype, ValueError for one that is no scalar.
    """
    with _scope(name, "assert_rank", x, [rank], data):
        return _one_rank(
            x, rank, data, summarize, message, "rank", lambda found, wanted: found == wanted, equal
        )


def assert_rank_at_least(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_rank`, that `x` has this rank or a higher one."""
    with _scope(name, "assert_rank_at_least", x, [rank], data):
        return _one_rank(
            x,
            rank,
            data,
            summarize,
            message,
            "rank at least",
            lambda found, wanted: found >= wanted,
            greater_equal,
        )


def assert_rank_in(
    x: Any,
    ranks: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_rank`, that `x` has one of `ranks`, a list of int32 scalars."""
    with _scope(name, "assert_rank_in", x, ranks, data):
        x = convert_to_tensor(x, name="x")
        tensors = [convert_to_tensor(each, name="rank") for each in ranks]
        text = f"Tensor {x.name} must have rank in"
        if data is None:
            data = [prefix(message), text, *tensors, "Received shape: ", shape_of(x)]

        def one_of(found: Tensor) -> Tensor:
            return reduce(logical_or, [equal(each, found) for each in tensors])

        return _checked(
            x,
            tensors,
            lambda found, wanted: found in wanted,
            one_of,
            lambda wanted: f"{prefix(message)}{text} {tuple(wanted)}.",
            data,
            summarize,
        )


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """`tensor`, which is a scalar; ValueError where it is none, or where its shape is unknown."""
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.sizes != ():
            raise ValueError(
                f"{prefix(message)}Expected scalar shape for {tensor.name}, saw shape: "
                f"{shown_shape(tensor)}."
            )
        return tensor

"""Checks of ranks: at graph construction if the rank is known, otherwise in the run."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from gpugraph.base.dtypes import int32
from gpugraph.base.named_function import named
from gpugraph.building.checks.build_time_values import prefix, shown_shape, static_value
from gpugraph.building.checks.type_assertions import assert_type
from gpugraph.building.control_flow import Assert
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import no_op, with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import equal, greater_equal, logical_or
from gpugraph.ops.framework.identity_and_shape import rank as rank_of, shape as shape_of
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_FINE = "static_checks_determined_all_ok"


def _check_rank(
    x: Tensor,
    ranks: Sequence[Tensor],
    holds: Callable[[int, list[int]], bool],
    condition: Callable[[Tensor], Tensor],
    refusal: Callable[[list[int]], str],
    data: Any,
    summarize: int | None,
) -> Operation:
    """Check the rank of `x` against `ranks`. If all these ranks are known, check them now.
    Otherwise return an op that checks them in the run.

    Args:
      holds: receives the known rank of `x` and the known `ranks`, and returns whether the check
        passes.
      condition: receives the rank of `x` in the run, an int32 scalar, and returns the bool scalar
        to be asserted.
      refusal: receives the known `ranks`, and returns the message of the ValueError.
      data: tensors for the message of the error in the run.
    """
    for rank in ranks:
        assert_type(rank, int32)
    known = [static_value(rank) for rank in ranks]
    if all(value is not None for value in known):
        if any(value.ndim for value in known):
            raise ValueError("Rank must be a scalar.")
        sizes, allowed = x.shape.sizes, [int(value) for value in known]
        if sizes is not None:
            if not holds(len(sizes), allowed):
                received = f"  Received rank {len(sizes)}, shape {shown_shape(x)}"
                raise ValueError(refusal(allowed) + received)
            return no_op(_FINE)
    checked = condition(rank_of(x))
    for rank, value in zip(ranks, known):
        if value is None:
            text = "Rank must be a scalar. Received rank: "
            check = assert_rank(rank, 0, data=[text, rank])
            checked = with_dependencies([check], checked)
    return Assert(checked, data, summarize=summarize)


def _scope(name: str | None, default: str, x: Any, ranks: Sequence[Any], data: Any) -> name_scope:
    return name_scope(name, default, [x, *ranks, *(data or ())])


def _one_rank(
    type_name: str, words: str, holds: Callable[[int, int], bool], compare: Callable[..., Tensor]
) -> Callable[..., Operation]:
    """Return the function named `type_name`, which compares the rank of a tensor with one given
    rank.
    """

    @named(
        type_name,
        f"""Return an operation that fails unless `x` has {words} `rank`, an int32 scalar.

    data: tensors for the message, instead of the shape; the first `summarize` elements of each.

    ValueError if rank and shape are known, else InvalidArgumentError in the run. TypeError for
    a rank of another dtype, ValueError for one that is not a scalar.
    """,
    )
    def check(
        x: Any,
        rank: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with _scope(name, type_name, x, [rank], data):
            x, rank = convert_to_tensor(x, name="x"), convert_to_tensor(rank, name="rank")
            text = f"Tensor {x.name} must have {words}"
            if data is None:
                data = [prefix(message), text, rank, "Received shape: ", shape_of(x)]
            return _check_rank(
                x,
                [rank],
                lambda known, allowed: holds(known, allowed[0]),
                lambda dynamic: compare(dynamic, rank),
                lambda allowed: f"{prefix(message)}{text} {allowed[0]}.",
                data,
                summarize,
            )

    return check


assert_rank = _one_rank("assert_rank", "rank", operator.eq, equal)
assert_rank_at_least = _one_rank(
    "assert_rank_at_least", "rank at least", operator.ge, greater_equal
)


def assert_rank_in(
    x: Any,
    ranks: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails unless the rank of `x` is one of `ranks`, a list of int32
    scalars.

    If the ranks are known at graph construction, the check is made then, and raises ValueError if
    it fails.
    """
    with _scope(name, "assert_rank_in", x, ranks, data):
        x = convert_to_tensor(x, name="x")
        tensors = [convert_to_tensor(rank, name="rank") for rank in ranks]
        text = f"Tensor {x.name} must have rank in"
        if data is None:
            data = [prefix(message), text, *tensors, "Received shape: ", shape_of(x)]

        def is_one_of(dynamic: Tensor) -> Tensor:
            return reduce(logical_or, [equal(rank, dynamic) for rank in tensors])

        return _check_rank(
            x,
            tensors,
            lambda known, allowed: known in allowed,
            is_one_of,
            lambda allowed: f"{prefix(message)}{text} {tuple(allowed)}.",
            data,
            summarize,
        )


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Return `tensor`. Raises ValueError if it is not a scalar or its shape is unknown."""
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.sizes != ():
            raise ValueError(
                f"{prefix(message)}Expected scalar shape for {tensor.name}, saw shape: "
                f"{shown_shape(tensor)}."
            )
        return tensor

"""The variables of a loop of a converted function that becomes a `tf.while_loop`.

If a variable is first assigned in the loop, it has no value before the loop. A trial call of the
body then determines its dtype and shape, and its initial value is zero. If such a loop ends without
an iteration, the run fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.nest import assert_same_structure, is_nested, map_structure
from gpugraph.base.shapes import TensorShape
from gpugraph.building.autograph.branch_operators import GetState, SetState, State, as_plain_tensor
from gpugraph.building.autograph.tensor_kinds import is_dense_tensor
from gpugraph.building.autograph.trial_calls import staged
from gpugraph.building.autograph.undefined_values import Undefined, UndefinedReturnValue, is_missing
from gpugraph.building.control_flow.while_loop import is_subshape
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import placeholder, zeros
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_NUMBERS = (bool, int, float, str, np.ndarray, np.generic)


def initial_values(
    body: Callable[[], Any], get_state: GetState, set_state: SetState, names: Sequence[str]
) -> tuple[State, list[Any]]:
    """Return the initial value of each loop variable, and the shape that it may have in the loop.

    The shape is None for a variable that has a value before the loop. Raises ValueError if a
    variable has no value before the loop and the body does not assign it.
    """
    values = tuple(get_state())
    if not any(map(is_missing, values)):
        return values, [None] * len(values)
    after: State | None = None
    failure: Exception | None = None
    with staged(get_default_graph()):
        set_state(tuple(map_structure(_as_loop_tensor, value) for value in values))
        try:
            body()
            after = tuple(get_state())
        except (TypeError, ValueError, KeyError, NameError) as error:
            failure = error
        if after is not None:
            after = tuple(map_structure(_signature, value) for value in after)
    set_state(values)
    if after is None:
        after = (None,) * len(values)
    pairs = [_stand_in(value, later) for value, later in zip(values, after)]
    _check_entry([value for value, _ in pairs], names, failure)
    return tuple(value for value, _ in pairs), [shape for _, shape in pairs]


def _as_loop_tensor(value: Any) -> Any:
    """Return a placeholder for a number, because its value varies inside the loop. Return any other
    value unchanged.
    """
    if not isinstance(value, _NUMBERS):
        return value
    tensor = convert_to_tensor(value)
    return placeholder(tensor.dtype, tensor.shape)


class _Signature:
    """The dtype and the shape of a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.dtype, self.shape = tensor.dtype.base_dtype, tensor.shape


def _signature(value: Any) -> Any:
    value = as_plain_tensor(value)
    return _Signature(convert_to_tensor(value)) if is_dense_tensor(value) else value


def _stand_in(value: Any, later: Any) -> tuple[Any, Any]:
    """Return (initial value, shape in the loop) for a variable. If the variable has no value before
    the loop, the initial value is zeros.

    Args:
      later: the dtype and shape of the variable after the trial call.
    """
    if not is_missing(value) or is_missing(later):
        return value, None
    if is_nested(later):
        return map_structure(lambda leaf: _stand_in(None, leaf)[0], later), map_structure(
            lambda leaf: getattr(leaf, "shape", None), later
        )
    if not isinstance(later, _Signature):
        return value, None
    if later.shape.rank is None:
        return zeros([], later.dtype), TensorShape(None)
    sizes = [1 if size is None else size for size in later.shape.as_list()]
    return zeros(sizes, later.dtype), later.shape


def _check_entry(values: Sequence[Any], names: Sequence[str], failure: Exception | None) -> None:
    """Raise ValueError if a loop variable is undefined or None before the loop."""
    if any(isinstance(value, UndefinedReturnValue) for value in values):
        raise ValueError("return statements are not supported within a TensorFlow loop.")
    undefined = tuple(value.symbol_name for value in values if isinstance(value, Undefined))
    if undefined:
        reason = f"; the loop's body failed without them: {failure}" if failure else ""
        raise ValueError(
            "TensorFlow requires that the following symbols must be defined before the loop: "
            f"{undefined}{reason}"
        )
    for name, value in zip(names, values):
        if value is None:
            raise ValueError(f"'{name}' is not allowed to be None before the loop")


def check_iteration(
    entry: Sequence[Any], after: Sequence[Any], names: Sequence[str], shapes: Sequence[Any]
) -> None:
    """Raise TypeError or ValueError if a variable changes its structure, dtype or shape in an
    iteration.

    Args:
      shapes: the shape invariant of each variable, or None if the shape at entry must not change.
    """
    for name, before, later, invariant in zip(names, entry, after, shapes):
        if later is None:
            raise ValueError(f"'{name}' is None at the end of the iteration.")
        try:
            assert_same_structure(before, later)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f'"{name}" does not have the same nested structure after one iteration.\n\n{error}'
            ) from error

        def check(
            first: Any, last: Any, name: str = name, is_checked: bool = invariant is None
        ) -> None:
            _check_leaf(name, as_plain_tensor(first), as_plain_tensor(last), is_checked)

        map_structure(check, before, later)


def _check_leaf(name: str, before: Any, later: Any, with_shape: bool) -> None:
    if not (is_dense_tensor(before) and is_dense_tensor(later)):
        return
    if before.dtype.base_dtype is not later.dtype.base_dtype:
        raise TypeError(
            f'"{name}" has dtype {before.dtype.base_dtype.name} before the loop, but dtype '
            f"{later.dtype.base_dtype.name} after one iteration. TensorFlow control flow requires "
            "it stays the same."
        )
    if with_shape and not is_subshape(later.shape, before.shape):
        raise ValueError(
            f'"{name}" has shape {before.shape} before the loop, but shape {later.shape} after one '
            "iteration. TensorFlow control flow requires it stays the same or be more specific."
        )

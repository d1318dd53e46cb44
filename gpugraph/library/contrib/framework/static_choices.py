"""Conditionals that are resolved during graph construction if their conditions are known then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.building.control_flow.case_and_switch_case import case
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.control_flow.smart_cond import static_bool
from gpugraph.building.variables import Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

Action = Callable[[], Any]


def smart_constant_value(pred: Any) -> bool | None:
    """Return the value of `pred`, which is a bool, 0, 1 or a bool tensor. If the tensor's value is
    not known, return None.

    Raises TypeError for any other value.
    """
    if not isinstance(pred, (Tensor, Variable)) and not _is_bool(pred):
        raise TypeError(
            "`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: "
            f"{type(pred)} ({pred!r})"
        )
    return static_bool(pred)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, int) and value in (0, 1))


def smart_cond(
    pred: Any, true_fn: Action | None = None, false_fn: Action | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the result of `true_fn` or `false_fn`.

    If the value of `pred` is known, call one of the functions directly. Otherwise build a
    `tf.cond`. Raises TypeError for a function that is not callable, and for a `pred` that is not a
    condition.
    """
    for kind, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"`{kind}` must be callable, but it is {function!r}.")
    known = smart_constant_value(pred)
    if known is None:
        return cond(convert_to_tensor(pred), true_fn=true_fn, false_fn=false_fn, name=name)
    chosen: Any = true_fn if known else false_fn
    return chosen()


def smart_case(
    pred_fn_pairs: Any, default: Action | None = None, exclusive: bool = False,
    name: str = "smart_case",
) -> Any:  # fmt: skip
    """Build a `tf.case` of the pairs whose conditions are not known during graph construction.

    Pairs with a condition that is known to be false are dropped. If the condition of a pair is
    known to be true, the function of the pair is called directly. If unknown conditions precede
    this pair, the function instead becomes the default. Raises TypeError for values that are not
    pairs of a condition and a function. For the other arguments, see `tf.case`.
    """
    items = pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs
    pairs = list(items)
    open_pairs = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(
                "Each entry in pred_fn_pairs must be a 2-tuple of a condition and a function: "
                f"{pair!r}"
            )
        known = smart_constant_value(pair[0])
        if known is None:
            open_pairs.append((convert_to_tensor(pair[0]), pair[1]))
        elif known and not exclusive:
            default = pair[1]
            break
        elif known:
            return pair[1]()
    if not open_pairs:
        if default is None:
            raise ValueError(f"None of the conditions is true, and there is no default: {pairs}")
        return default()
    return case(open_pairs, default, exclusive, name=name)

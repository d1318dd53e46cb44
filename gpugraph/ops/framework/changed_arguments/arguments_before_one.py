"""Calls whose arguments changed in TensorFlow 1.0.

`changed_call` recognizes such a call by its arguments. If the call of a function decorated with
`hint_at_old_arguments` fails, the error also has the old and the new form. `gpugraph check` reads
the same table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gpugraph.base import dtypes

_F = TypeVar("_F", bound=Callable[..., Any])


class OldCall(NamedTuple):
    """The form of a call before TensorFlow 1.0.

    Args:
      is_old: a function that receives the positional arguments, and returns whether they have the
        types of the old form.
      keywords: the keywords that only the old form has.
      hint: a sentence with the old and the new form.
    """

    is_old: Callable[[Sequence[Any]], bool]
    keywords: Sequence[str]
    hint: str


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or getattr(value, "dtype", None) in (
        dtypes.bool, np.dtype(bool)
    )  # fmt: skip


def _has_flags(args: Sequence[Any]) -> bool:
    axes = args[1] if len(args) > 1 else None
    return _is_bool(axes) or (
        isinstance(axes, (list, tuple)) and bool(axes) and all(map(_is_bool, axes))
    )


def _has_labels_last(args: Sequence[Any]) -> bool:
    """Return whether argument 2 is a float tensor and argument 3 holds integers."""
    if len(args) < 4:
        return False
    inputs, labels = (getattr(value, "dtype", None) for value in args[2:4])
    kinds = [getattr(dtype, "is_integer", None) for dtype in (inputs, labels)]
    return kinds == [False, True]


def _has_values_last(args: Sequence[Any]) -> bool:
    """Return whether argument 0 is a number, or only argument 1 is a list."""
    lists = [isinstance(value, (list, tuple)) for value in args[:2]]
    return bool(args) and (_is_number(args[0]) or lists == [False, True])


def _loss(name: str) -> OldCall:
    form = f"tf.nn.{name}(labels=..., logits=...)"
    return OldCall(
        lambda args: bool(args),
        ("targets",),
        f"Before TensorFlow 1.0 the logits came first, without names; now it is {form}.",
    )


def _sampled(name: str) -> OldCall:
    return OldCall(
        _has_labels_last,
        (),
        "Before TensorFlow 1.0 the inputs came before the labels; now it is "
        f"tf.nn.{name}(weights, biases, labels, inputs, num_sampled, num_classes).",
    )


_LOSSES = (
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "sigmoid_cross_entropy_with_logits",
)

OLD_CALLS: Mapping[str, OldCall] = {
    "concat": OldCall(
        _has_values_last,
        ("concat_dim",),
        "Before TensorFlow 1.0 the axis came first, as in tf.concat(axis, values); now it is "
        "tf.concat(values, axis).",
    ),
    "split": OldCall(
        lambda args: len(args) > 2 and _is_number(args[0]),
        ("split_dim", "num_split"),
        "Before TensorFlow 1.0 the axis came first, as in tf.split(axis, number, value); now it is "
        "tf.split(value, number, axis).",
    ),
    "reverse": OldCall(
        _has_flags,
        ("dims",),
        "Before TensorFlow 1.0 tf.reverse had a flag for each axis; now it has the numbers of the "
        "axes, as in tf.reverse(x, [1]).",
    ),
    "summary.image": OldCall(
        lambda args: False,
        ("max_images",),
        "Before TensorFlow 1.0 it was tf.image_summary(tag, images, max_images=3); now it is "
        "tf.summary.image(name, images, max_outputs=3).",
    ),
    **{f"nn.{name}": _loss(name) for name in _LOSSES},
    **{f"nn.{name}": _sampled(name) for name in ("nce_loss", "sampled_softmax_loss")},
}
"""By public name, the old form of its call."""


def old_call_hint(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return a hint if the arguments of a call have the form from before TensorFlow 1.0, or "" if
    they do not.
    """
    call = OLD_CALLS[name]
    if any(keyword in call.keywords for keyword in keywords) or call.is_old(args):
        return call.hint
    return ""


def hint_at_old_arguments(name: str) -> Callable[[_F], _F]:
    """Return a decorator for the public function `name`. If a call with old arguments raises
    TypeError or ValueError, the decorated function appends a hint to the error's text.
    """

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except (TypeError, ValueError) as error:
                hint = old_call_hint(name, args, kwargs)
                if hint and error.args and isinstance(error.args[0], str):
                    error.args = (f"{error.args[0].rstrip('.')}. {hint}", *error.args[1:])
                raise

        return call  # type: ignore[return-value]

    return decorate

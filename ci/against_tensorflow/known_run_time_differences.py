"""Differences that `run_time_errors.py` finds to TensorFlow 2.21, with their reasons.

A kind of ops excuses words only: where the class of the error, or whether there is one, differs,
that needs a reason of the very case.
"""

from __future__ import annotations

import re

__all__ = ["reason"]

CASES = {("SetSize", "set_indices: negative"): "TensorFlow writes in front of the result's memory"}
"""Reasons for one change of one op type."""

_SIZES = re.compile(r"Shapes? must be|Dimensions? (\d+ in both shapes )?must be|Shapes must be")
_NAMED = "for '"
WORDS = {
    "the class is TensorFlow's; the words are those of its shape function, and name all shapes": (
        lambda error: _SIZES.search(error) is not None
    ),
    "the class is TensorFlow's; our words name the op and the shapes of all inputs": (
        lambda error: _NAMED in error and "with input shapes: " in error
    ),
}
"""Reasons for words, by a function of our error that checks whether the reason holds for it."""


def reason(op_type: str, change: str, kind: str, what: str) -> str | None:
    """Return the reason for a difference; None if there is none."""
    alone = CASES.get((op_type, change))
    if alone is not None or kind != "words":
        return alone
    ours = what.partition(", not ")[0]
    return next((why for why, holds in WORDS.items() if holds(ours)), None)

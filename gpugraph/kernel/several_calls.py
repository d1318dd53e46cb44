"""Kernels that compute the results of several calls of an op at once.

    SEVERAL["ParseSingleExample"](context, [[example, default], [example, default]])

A pipeline calls such an op once for each element. Separate calls would spend more time on work that
all calls have in common, and on transitions between Python and native code, than on the
computation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.kernel.signature_and_context import KernelContext

Calls = Sequence[Sequence[Any]]
"""The inputs, or the outputs, of several calls."""

SEVERAL: dict[str, Callable[[KernelContext, Calls], Calls | None]] = {}
"""By op type, a function of a context and the inputs of several calls. It returns the outputs of
each call. If it returns None or raises an error, the op must be called for each of the inputs."""


def have_equal_rest(calls: Calls) -> bool:
    """Return whether the calls have equal inputs, apart from their first input."""
    rest = calls[0][1:]
    return all(
        len(call) == len(rest) + 1 and all(one is other for one, other in zip(call[1:], rest))
        for call in calls
    )

"""The status of AutoGraph in this thread: whether the running function has been converted.

The error for a tensor that is used as a Python value names this status. `tf.autograph` sets the
status (`building/autograph`).
"""

from __future__ import annotations

import enum
import threading
from types import TracebackType
from typing import Any


class AutographStatus(enum.Enum):
    """Whether AutoGraph converts the running function.

    UNSPECIFIED means that no conversion was requested or forbidden. MISSING means that the package
    for conversions is not installed.
    """

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2
    MISSING = 3


_HINTS = {
    AutographStatus.UNSPECIFIED: (
        "in Graph execution. Use Eager execution or decorate this function with @tf.function."
    ),
    AutographStatus.ENABLED: (
        ": AutoGraph did not convert this function. Try decorating it directly with @tf.function."
    ),
    AutographStatus.DISABLED: (
        ": AutoGraph is disabled in this function. Try decorating it directly with @tf.function."
    ),
    AutographStatus.MISSING: (
        ": AutoGraph did not convert this function, because it needs the package diastatic-malt, "
        "which is not installed: pip install 'gpugraph[autograph]'."
    ),
}


class _Statuses(threading.local):
    def __init__(self) -> None:
        self.stack: list[ControlStatusCtx] = [ControlStatusCtx(AutographStatus.UNSPECIFIED)]


class ControlStatusCtx:
    """A context manager: inside its `with` block, AutoGraph has the status `status`.

    Args:
      options: the options of the conversions.
    """

    def __init__(self, status: AutographStatus, options: Any = None) -> None:
        self.status = status
        self.options = options

    def __enter__(self) -> ControlStatusCtx:
        _STATUSES.stack.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _STATUSES.stack.pop()

    def __repr__(self) -> str:
        return f"ControlStatusCtx[status={self.status}, options={self.options}]"


_STATUSES = _Statuses()


def control_status_ctx() -> ControlStatusCtx:
    """Return this thread's innermost active `ControlStatusCtx`."""
    return _STATUSES.stack[-1]


def not_allowed(task: str) -> str:
    """Return the message of the error for `task`, such as "iterating over `tf.Tensor`"."""
    hint = _HINTS[control_status_ctx().status]
    return f"{task} is not allowed{'' if hint.startswith(':') else ' '}{hint}"

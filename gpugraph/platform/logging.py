"""tf.logging: messages to standard error, by level, as TensorFlow 1's programs write them.

It is Python's `logging` under the logger "tensorflow"; who configures that one changes where
messages go. Until then they are written to standard error, from the level WARN on.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
from collections.abc import Iterator
from typing import Any

DEBUG = logging.DEBUG
INFO = logging.INFO
WARN = logging.WARN
ERROR = logging.ERROR
FATAL = logging.FATAL


class _ToStandardError(logging.StreamHandler):  # type: ignore[type-arg]  # 3.11 has it generic
    """Writes to what `sys.stderr` is when a message comes."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr


def _made() -> logging.Logger:
    logger = logging.getLogger("tensorflow")
    if not logger.handlers:
        handler = _ToStandardError()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logger.addHandler(handler)
        logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(WARN)
    return logger


_logger = _made()
_lock = threading.Lock()
_counters: dict[tuple[str, int], Iterator[int]] = {}
_DEPTH = 2
"""The caller's frame, seen from the logger: what `%(filename)s` of a format means."""


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` if `level` is at least the verbosity."""
    _logger.log(level, msg, *args, stacklevel=_DEPTH, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` at the level DEBUG."""
    _logger.debug(msg, *args, stacklevel=_DEPTH, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` at the level INFO."""
    _logger.info(msg, *args, stacklevel=_DEPTH, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` at the level WARN."""
    _logger.warning(msg, *args, stacklevel=_DEPTH, **kwargs)


def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` at the level WARN."""
    _logger.warning(msg, *args, stacklevel=_DEPTH, **kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` at the level ERROR."""
    _logger.error(msg, *args, stacklevel=_DEPTH, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` at the level FATAL; the program goes on."""
    _logger.critical(msg, *args, stacklevel=_DEPTH, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes `msg % args` if `level` is at least the verbosity."""
    _logger.log(level, msg, *args, stacklevel=_DEPTH, **kwargs)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Writes `msg % args` at `level` if `condition` holds."""
    if condition:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Writes `msg % args` at `level` on the first, the n+1st, the 2n+1st... call of this line."""
    if not _times_called() % n:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Writes `msg % args` at `level` on the first `n` calls of this line."""
    if _times_called() < n:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def _times_called() -> int:
    """How often the line that called our caller has done so before."""
    frame = sys._getframe(2)
    with _lock:
        counter = _counters.setdefault(
            (frame.f_code.co_filename, frame.f_lineno), itertools.count()
        )
        return next(counter)


def set_verbosity(v: int | str) -> None:
    """Messages below the level `v` (such as `tf.logging.INFO`) are not written."""
    _logger.setLevel(v)


def get_verbosity() -> int:
    """The level from which on messages are written: WARN at first."""
    return _logger.getEffectiveLevel()


def flush() -> None:
    """Writes what handlers hold back."""
    for handler in _logger.handlers:
        handler.flush()


def TaskLevelStatusMessage(msg: Any) -> None:
    """Writes `msg` at the level ERROR."""
    _logger.error(msg, stacklevel=_DEPTH)

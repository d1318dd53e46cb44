"""tf.logging: messages to standard error, by level, under TensorFlow 1's names.

It wraps Python's `logging` under the logger "tensorflow". Programs that configure this logger
redirect the messages. By default those of level WARN and above go to standard error.
"""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.named_function import named

DEBUG = logging.DEBUG
INFO = logging.INFO
WARN = logging.WARN
ERROR = logging.ERROR
FATAL = logging.FATAL


class _ToStandardError(logging.StreamHandler):  # type: ignore[type-arg]  # 3.11 has it generic
    """Writes to the value that `sys.stderr` has at the time of the message."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @uninterrupted  # `emit` would report any exception as an error of the message
    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)


def _new_logger() -> logging.Logger:
    logger = logging.getLogger("tensorflow")
    if not logger.handlers:
        handler = _ToStandardError()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logger.addHandler(handler)
        logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(WARN)
    return logger


_logger = _new_logger()
_lock = new_lock()
_counters: dict[tuple[str, int], Iterator[int]] = {}
_DEPTH = 2
"""The distance of the caller's frame from the logger, for `%(filename)s` in formats."""


def _log_function(type_name: str) -> Callable[..., None]:
    """Build `log` or `vlog`."""

    @named(type_name, "Write `msg % args` if `level` is at least the verbosity.")
    def write(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
        _logger.log(level, msg, *args, stacklevel=_DEPTH, **kwargs)

    return write


def _level_function(type_name: str, level: int, summary: str) -> Callable[..., None]:
    """Build the function that writes at one level."""

    @named(type_name, f"Write `msg % args` at the level {summary}.")
    def write(msg: Any, *args: Any, **kwargs: Any) -> None:
        _logger.log(level, msg, *args, stacklevel=_DEPTH, **kwargs)

    return write


log = _log_function("log")
vlog = _log_function("vlog")
debug = _level_function("debug", DEBUG, "DEBUG")
info = _level_function("info", INFO, "INFO")
warning = _level_function("warning", WARN, "WARN")
warn = _level_function("warn", WARN, "WARN")
error = _level_function("error", ERROR, "ERROR")
fatal = _level_function("fatal", FATAL, "FATAL; the program goes on")


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Write `msg % args` at `level` if `condition` holds."""
    if condition:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write `msg % args` at `level` on the first, the n+1st, the 2n+1st... call of this line."""
    if not _times_called() % n:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write `msg % args` at `level` on the first `n` calls of this line."""
    if _times_called() < n:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def _times_called() -> int:
    """Count a call of the caller's calling line, and return its number of earlier calls."""
    frame = sys._getframe(2)
    with _lock:
        counter = _counters.setdefault(
            (frame.f_code.co_filename, frame.f_lineno), itertools.count()
        )
        return next(counter)


def set_verbosity(v: int | str) -> None:
    """Suppress messages below the level `v` (such as `tf.logging.INFO`)."""
    _logger.setLevel(v)


def get_verbosity() -> int:
    """Return the lowest level that is written: WARN by default."""
    return _logger.getEffectiveLevel()


def flush() -> None:
    """Flush the handlers."""
    for handler in _logger.handlers:
        handler.flush()


def TaskLevelStatusMessage(msg: Any) -> None:
    """Write `msg` at the level ERROR."""
    _logger.error(msg, stacklevel=_DEPTH)


def get_logger() -> logging.Logger:
    """Return the Python logger of the messages: `tf.get_logger()`."""
    return _logger

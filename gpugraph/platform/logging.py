"""tf.logging, which writes messages of several levels to standard error. The functions have
TensorFlow 1's names.

Messages are passed to the logger "tensorflow" of Python's `logging`. A program can redirect
messages by configuring this logger. By default, messages of level WARN and above are written to
standard error.
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
    """A handler that writes to the value that `sys.stderr` has at the time of the message."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @uninterrupted  # `emit` would report a signal handler's exception as its own
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
"""The number of frames from the logger to the program's line, for `%(filename)s` in formats."""


def _log_function(type_name: str) -> Callable[..., None]:
    """Return the function `log` or `vlog`, which both write a message at a given level. Its name is
    `type_name`.
    """

    @named(type_name, "Write `msg % args` if `level` is at least the verbosity.")
    def write(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
        _logger.log(level, msg, *args, stacklevel=_DEPTH, **kwargs)

    return write


def _level_function(type_name: str, level: int, summary: str) -> Callable[..., None]:
    """Return a function such as `info`, which writes messages at one level.

    Args:
      summary: the level's name, for the docstring.
    """

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
    """Write `msg % args` at `level` if `condition` is true."""
    if condition:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write `msg % args` at `level` on the first call from a line of the program, and on every n-th
    call after it.
    """
    if not _times_called() % n:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write `msg % args` at `level` on the first `n` calls from a line of the program."""
    if _times_called() < n:
        _logger.log(level, msg, *args, stacklevel=_DEPTH)


def _times_called() -> int:
    """Count a call of a logging function. Each line of the program has its own count.

    Return the number of earlier calls from the same line.
    """
    frame = sys._getframe(2)
    with _lock:
        counter = _counters.setdefault(
            (frame.f_code.co_filename, frame.f_lineno), itertools.count()
        )
        return next(counter)


def set_verbosity(v: int | str) -> None:
    """Suppress messages below the level `v` (such as `tf.logging.INFO`).

    >>> tf.logging.set_verbosity(tf.logging.WARN)
    """
    _logger.setLevel(v)


def get_verbosity() -> int:
    """Return the lowest level of messages that are written, by default WARN."""
    return _logger.getEffectiveLevel()


def flush() -> None:
    """Flush the handlers of the logger."""
    for handler in _logger.handlers:
        handler.flush()


def TaskLevelStatusMessage(msg: Any) -> None:
    """Write `msg` at the level ERROR."""
    _logger.error(msg, stacklevel=_DEPTH)


def get_logger() -> logging.Logger:
    """Return the Python logger to which messages are passed. This is `tf.get_logger()`."""
    return _logger

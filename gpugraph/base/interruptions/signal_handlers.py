"""Deferred signal handlers: no handler runs in the middle of an uninterrupted call.

Python runs a signal's handler between any two bytecode instructions. If the handler raises an
exception, that exception can interrupt an update halfway, or separate a change of memory from its
bookkeeping. This module therefore wraps every Python-level handler of every signal, whether the
program sets it before or after the import. While the main thread is inside an uninterrupted
function (a run, a change of an allocator, the replacement of a file), the wrapper only records the
signal. The handler runs when the outermost uninterrupted function returns (`deliver_signals`), just
as Python delays a handler until a call into C returns. The handler may then raise any exception, or
run a session.

A run may take a long time, and may call Python functions of the user. Handlers run immediately
inside these Python functions (`call_interruptibly`). A run polls for pending signals
(`poll_signals`) at points where it checks whether to continue (`plan/run_clock.py`). At these
polls, Python's own SIGINT handler, which only raises KeyboardInterrupt, runs immediately. Any other
handler runs only if its signal has been pending for a second. The delay exists because a handler
may read variables, which are only consistent between runs.

If a signal arrives again before its handler has run, the handler runs only once, as with the
system's own pending signals. A second Ctrl-C at least a second after the first raises
KeyboardInterrupt immediately. Exceptions that `PyThreadState_SetAsyncExc` or a trace function
injects can't be deferred.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import importlib
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

_PATIENCE_S = 1.0
"""The number of seconds until a run calls a pending handler of the program, and until a second
Ctrl-C takes effect.
"""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Handler = Callable[[int, "FrameType | None"], Any]

PENDING: dict[int, float] = {}
"""For each signal whose handler has not run yet, by number: the arrival time by
`time.monotonic`.
"""

_handlers: dict[int, _Handler] = {}  # the program's handlers, which `_handle` calls
_system: Any = importlib.import_module("_signal")  # the C module below `signal`
_set_handler, _get_handler = _system.signal, _system.getsignal

_UNINTERRUPTED: dict[CodeType, Callable[[FrameType], object] | None] = {}  # to their `on_signal`
_INTERRUPTIBLE: set[CodeType] = set()
_FINALIZERS: set[CodeType] = set()
_is_installed = False


def defers_signals(
    on_signal: Callable[[FrameType], object] | None = None,
) -> Callable[[_Function], _Function]:
    """Mark a function as uninterrupted.

    The caller of the function must call `deliver_signals` afterwards if `PENDING` is not empty.

    Args:
      on_signal: called with the frame of the running function whenever a signal arrives.
    """

    def decorate(function: _Function) -> _Function:
        _UNINTERRUPTED[function.__code__] = on_signal
        return function

    return decorate


def uninterrupted(function: _Function) -> _Function:
    """Return a function during which no signal handler runs.

    If a signal arrives during a call, its handler runs when the call has ended.
    """
    defers_signals()(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            if PENDING:
                deliver_signals()

    return call  # type: ignore[return-value]


def uninterrupted_finalizer(function: _Function) -> _Function:
    """Defer signal handlers in a `__del__` method. Python would drop the exceptions that handlers
    raise there.
    """
    defers_signals()(function)
    _FINALIZERS.add(function.__code__)
    return function


def _defer_in_weakref_callbacks() -> None:
    """Treat the standard library's weak reference callbacks as finalizers.

    Python drops an exception raised in a finalizer or in such a callback. Programs and this package
    hold many weak sets, so a handler would often run inside such a callback.
    """
    containers: Any = weakref.WeakSet(), weakref.WeakKeyDictionary(), weakref.WeakValueDictionary()
    for container in containers:
        uninterrupted_finalizer(container._remove)
    uninterrupted_finalizer(weakref.finalize.__call__)


def call_interruptibly(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function during which handlers run immediately, even inside an uninterrupted
    function.
    """
    return function(*args)


def raised_by_handler(error: BaseException) -> bool:
    """Return whether a signal handler raised this exception.

    Callers must then propagate it unchanged.
    """
    return "_raised_by_handler" in error.__dict__


def deliver_signals() -> None:
    """Run the pending handlers, unless the caller is inside an uninterrupted function."""
    if is_main_thread() and not _uninterrupted_frames(sys._getframe(1)):
        _call_pending()


def poll_signals(at_once: bool) -> None:
    """Run pending handlers inside a run.

    Python's own SIGINT handler runs immediately. A handler of the program runs once its signal has
    been pending for a second, or immediately if `at_once`.
    """
    if is_main_thread():
        now = time.monotonic()
        for number, arrived in list(PENDING.items()):
            is_own = _handlers.get(number) is signal.default_int_handler
            if is_own or at_once or now - arrived >= _PATIENCE_S:
                _call(number, sys._getframe(1))


def install_handlers() -> None:
    """Wrap the program's signal handlers: the handlers that are set already, and all handlers that
    the program sets later.

    Handlers that are set already can only be wrapped from the main thread, so the main thread must
    call this once.
    """
    global _is_installed
    if _is_installed:
        return
    _system.signal, _system.getsignal = _set, _get
    if is_main_thread():
        _is_installed = True
        for number in signal.valid_signals():
            handler = _get_handler(number)
            if callable(handler):
                _set(number, handler)


def is_main_thread() -> bool:
    """Return whether the calling thread is the main thread, where Python runs signal handlers."""
    return threading.current_thread() is threading.main_thread()


def _set(number: int, handler: Any) -> Any:
    """Set a handler and return the program's previous one.

    This function replaces `_signal.signal`.
    """
    before = _handlers.get(number)
    if callable(handler):
        _handlers[number] = handler
    try:
        replaced = _set_handler(number, _handle if callable(handler) else handler)
    except BaseException:  # possibly from a pending handler, which Python runs first
        if before is not None:
            _handlers[number] = before
        else:
            _handlers.pop(number, None)
        raise
    if not callable(handler):
        _handlers.pop(number, None)
        PENDING.pop(number, None)
    return before if replaced is _handle else replaced


def _get(number: int) -> Any:
    """Return the program's handler of a signal. This function replaces `_signal.getsignal`."""
    handler = _get_handler(number)
    return _handlers.get(number) if handler is _handle else handler


def _handle(number: int, frame: FrameType | None) -> None:
    """Run the program's handler of this signal, or defer it. Python calls this function for every
    signal that has a handler in Python.
    """
    around = _uninterrupted_frames(frame)
    if not around or _insists(number):
        _call(number, frame)
        return
    PENDING.setdefault(number, time.monotonic())
    for entered in around:
        on_signal = _UNINTERRUPTED[entered.f_code]
        if on_signal is not None:
            on_signal(entered)
    if around[-1].f_code in _FINALIZERS:
        with contextlib.suppress(RuntimeError):  # no thread available: the next run delivers it
            _thread.start_new_thread(_remind, ())


def _insists(number: int) -> bool:
    """Return whether the signal `number` is a repeated Ctrl-C, at least one second after the
    first.
    """
    is_own = _handlers.get(number) is signal.default_int_handler
    return is_own and time.monotonic() - PENDING.get(number, float("inf")) >= _PATIENCE_S


def _uninterrupted_frames(frame: FrameType | None) -> list[FrameType]:
    """Return the frames of uninterrupted functions among `frame` and its callers, innermost first.
    Stop at a function in which handlers run immediately.
    """
    frames = []
    while frame is not None and frame.f_code not in _INTERRUPTIBLE:
        if frame.f_code in _UNINTERRUPTED:
            frames.append(frame)
        frame = frame.f_back
    return frames


def _call_pending() -> None:
    """Run the handlers of all pending signals, even if one of them raises."""
    while PENDING:
        try:
            _call(next(iter(PENDING)), sys._getframe(2))
        except BaseException:
            _call_pending()
            raise


def _call(number: int, frame: FrameType | None) -> None:
    """Run a handler, and mark an exception that it raises for `raised_by_handler`."""
    PENDING.pop(number, None)
    handler = _handlers.get(number)
    if handler is None:  # removed since the signal arrived
        return
    try:
        handler(number, frame)
    except BaseException as error:
        error.__dict__["_raised_by_handler"] = True
        raise


def _remind() -> None:
    """Trigger pending signals again, from another thread, until their handlers have run."""
    while PENDING:
        time.sleep(0.001)
        for number in list(PENDING):
            _thread.interrupt_main(number)  # type: ignore[arg-type]


_defer_in_weakref_callbacks()
_INTERRUPTIBLE.update((call_interruptibly.__code__, _call.__code__))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PENDING.clear)  # Python discards its pending signals too

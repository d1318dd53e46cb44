"""The handlers of signals: none is called in the midst of what is to happen as a whole.

Python calls a handler between any two instructions, and what it raises comes out there: in the
middle of an update, or between a change of memory and the note of it. So every handler that the
program sets, before or after, for whatever signal, is called by `_handle`. While a function that is
`whole` (a run, a change of an allocator, a file that replaces another) is being called in the main
thread, the call is put off, until the outermost one is left (`deliver`), as a handler waits for the
end of a call of C. There it is called in full: it may raise anything, or run a session.

A run may take long, and calls functions of the user's. Those are called `openly`: there a handler
is called at once. And where a run looks whether it goes on (`plan/run_clock.py`), what waits for it
is called too (`hear`): Python's own handler of Ctrl-C, which only raises KeyboardInterrupt, at
once; others once they have waited for a second, for they may run what should find no half of a run.

A signal that comes again before its handler was called is one with the first, as in the system. A
second Ctrl-C, a second later, is raised at once, whatever it leaves.

What raises without a signal (`PyThreadState_SetAsyncExc`, a trace function) comes anywhere.
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
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

_PATIENCE_S = 1.0
"""How long a run keeps a handler of the program's waiting; after which Ctrl-C insists."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Handler = Callable[[int, "FrameType | None"], Any]

PENDING: dict[int, float] = {}
"""The signals whose handlers are to be called, and the times of `time.monotonic` when they came."""

_handlers: dict[int, _Handler] = {}  # the program's, in whose place `_handle` is
_system: Any = importlib.import_module("_signal")  # which `signal` looks its functions up in
_set_handler, _get_handler = _system.signal, _system.getsignal

_WHOLE: dict[CodeType, Callable[[FrameType], object] | None] = {}  # and what is told of a signal
_OPEN: set[CodeType] = set()
_FINALIZERS: set[CodeType] = set()
_is_installed = False


def kept_whole(
    notice: Callable[[FrameType], object] | None = None,
) -> Callable[[_Function], _Function]:
    """Decorates what no handler is called in. Its caller calls `deliver` when there are `PENDING`.

    notice: is called with the function's frame when a signal has come.
    """

    def decorate(function: _Function) -> _Function:
        _WHOLE[function.__code__] = notice
        return function

    return decorate


def whole(function: _Function) -> _Function:
    """Decorates what no handler is called in; those that wait are called when it is over."""
    kept_whole()(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            if PENDING:
                deliver()

    return call  # type: ignore[return-value]


def whole_finalizer(function: _Function) -> _Function:
    """Decorates a `__del__`: Python drops what is raised there, so handlers are called after it."""
    kept_whole()(function)
    _FINALIZERS.add(function.__code__)
    return function


def openly(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function of the user's: handlers are called in it, whatever is around it."""
    return function(*args)


def is_of_handler(error: BaseException) -> bool:
    """Whether a handler has raised this: then it is no error of what was under way."""
    return "_is_of_handler" in error.__dict__


def deliver() -> None:
    """Calls the handlers that were put off, unless the caller is itself called in what is whole."""
    if is_main_thread() and not _whole_frames(sys._getframe(1)):
        _call_pending()


def hear(at_once: bool) -> None:
    """Calls in a run what waits for it: Python's own handler; others if `at_once`, or in time."""
    if is_main_thread():
        now = time.monotonic()
        for number, came in list(PENDING.items()):
            is_own = _handlers.get(number) is signal.default_int_handler
            if is_own or at_once or now - came >= _PATIENCE_S:
                _call(number, sys._getframe(1))


def install_handlers() -> None:
    """Takes the place of the program's handlers, now and when it sets others.

    Those that it has set before are left to the first call in the main thread.
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


def _set(number: int, handler: Any) -> Any:
    """In the place of `signal.signal`: sets a handler; the one that the program set before."""
    before = _handlers.get(number)
    if callable(handler):
        _handlers[number] = handler
    try:
        replaced = _set_handler(number, _handle if callable(handler) else handler)
    except BaseException:  # of a handler too, and those are called before anything is set
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
    """In the place of `signal.getsignal`."""
    handler = _get_handler(number)
    return _handlers.get(number) if handler is _handle else handler


def _handle(number: int, frame: FrameType | None) -> None:
    """Calls the program's handler of this signal, or has it wait."""
    around = _whole_frames(frame)
    if not around or _insists(number):
        _call(number, frame)
        return
    PENDING.setdefault(number, time.monotonic())
    for each in around:
        notice = _WHOLE[each.f_code]
        if notice is not None:
            notice(each)
    if around[-1].f_code in _FINALIZERS:
        with contextlib.suppress(RuntimeError):  # no thread to be had: the next run calls it
            _thread.start_new_thread(_remind, ())


def _insists(number: int) -> bool:
    """Whether this is another Ctrl-C, long after the first."""
    is_own = _handlers.get(number) is signal.default_int_handler
    return is_own and time.monotonic() - PENDING.get(number, float("inf")) >= _PATIENCE_S


def _whole_frames(frame: FrameType | None) -> list[FrameType]:
    """The calls of what is whole in which this one is, from within; none behind an open one."""
    frames = []
    while frame is not None and frame.f_code not in _OPEN:
        if frame.f_code in _WHOLE:
            frames.append(frame)
        frame = frame.f_back
    return frames


def _call_pending() -> None:
    """Calls the handlers of all signals that wait, the later ones too where one raises."""
    while PENDING:
        try:
            _call(next(iter(PENDING)), sys._getframe(2))
        except BaseException:
            _call_pending()
            raise


def _call(number: int, frame: FrameType | None) -> None:
    """Calls a handler. What it raises is marked as its own."""
    PENDING.pop(number, None)
    handler = _handlers.get(number)
    if handler is None:  # the program has taken it away meanwhile
        return
    try:
        handler(number, frame)
    except BaseException as error:
        error.__dict__["_is_of_handler"] = True
        raise


def _remind() -> None:
    """Has Python call `_handle` again, from another thread, until no signal waits."""
    while PENDING:
        time.sleep(0.001)
        for number in list(PENDING):
            _thread.interrupt_main(number)  # type: ignore[arg-type]


def is_main_thread() -> bool:
    """Whether this is the thread in which Python calls handlers."""
    return threading.current_thread() is threading.main_thread()


_OPEN.update((openly.__code__, _call.__code__))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PENDING.clear)  # as Python forgets them, too

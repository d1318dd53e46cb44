"""Handlers of signals: they are the program's, and are called when nothing is half done."""

from __future__ import annotations

import ast
import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from signal import getsignal, signal as set_handler
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base import whole_files
from gpugraph.base.interruptions import signal_handlers
from gpugraph.base.interruptions.signal_handlers import (
    PENDING,
    call_interruptibly,
    install_handlers,
    uninterrupted,
    uninterrupted_finalizer,
)
from gpugraph.formats.variable_files import conversion
from gpugraph.library.keras.saving import hdf5_groups
from gpugraph.runtime import executor
from gpugraph.session import base_session, direct_runner
from tests.signals_at import StopError, raising, stopped_at_call, stopped_at_line

PACKAGE = Path(tf.__file__).parent


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Installed, and those of before at the end; a graph for each test."""
    install_handlers()
    tf.reset_default_graph()
    numbers = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
    before = [getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before):
        set_handler(number, handler)
    assert not PENDING


def test_the_program_gets_its_own_handlers_back() -> None:
    def first(number: int, frame: Any) -> None:
        pass

    def second(number: int, frame: Any) -> None:
        pass

    assert set_handler(signal.SIGUSR1, first) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGUSR1) is getsignal(signal.SIGUSR1) is first
    assert signal.signal(signal.SIGUSR1, second) is first
    assert signal.signal(signal.SIGUSR1, signal.SIG_IGN) is second
    assert getsignal(signal.SIGUSR1) is signal.SIG_IGN
    assert signal.signal(signal.SIGUSR1, first) is signal.SIG_IGN
    with pytest.raises(TypeError):
        signal.signal(signal.SIGUSR1, "handler")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        signal.signal(1000, second)
    assert getsignal(signal.SIGUSR1) is first
    assert signal.signal(signal.SIGUSR1, signal.SIG_DFL) is first
    assert getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_a_call_waits_for_the_outermost_that_is_whole() -> None:
    calls: list[tuple[str, str | None]] = []
    where = ""

    def note(number: int, frame: Any) -> None:
        calls.append((where, frame.f_code.co_name))

    @uninterrupted
    def inner() -> None:
        nonlocal where
        where = "inside"
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)  # one with the first
        where = "after"

    @uninterrupted
    def outer() -> None:
        nonlocal where
        inner()
        where = "at the end"

    def user() -> None:
        signal.raise_signal(signal.SIGUSR1)

    set_handler(signal.SIGUSR1, note)
    outer()
    assert [place for place, _ in calls] == ["at the end"]
    where = "in the user's"
    uninterrupted(lambda: call_interruptibly(user))()
    assert calls[1:] == [(where, "user")]


def test_all_that_wait_are_called_and_what_one_raises_comes_out() -> None:
    calls = []

    def stop(number: int, frame: Any) -> None:
        calls.append(number)
        raise StopError

    @uninterrupted
    def both(fails: bool) -> None:
        signal.raise_signal(signal.SIGUSR2)
        signal.raise_signal(signal.SIGUSR1)
        if fails:
            raise ValueError

    set_handler(signal.SIGUSR1, stop)
    set_handler(signal.SIGUSR2, stop)
    with pytest.raises(StopError):
        both(False)
    with pytest.raises(StopError) as failed:
        both(True)
    assert calls == 2 * [signal.SIGUSR2, signal.SIGUSR1]
    chain, last = [], failed.value
    while last is not None:
        chain.append(type(last))
        last = last.__context__  # type: ignore[assignment]
    assert chain == [StopError, StopError, ValueError]


def test_a_handler_that_is_taken_away_is_not_called() -> None:
    @uninterrupted
    def taken_away() -> None:
        signal.raise_signal(signal.SIGUSR1)
        set_handler(signal.SIGUSR1, signal.SIG_IGN)

    with raising() as raised:
        taken_away()
        assert not raised


def test_a_second_ctrl_c_is_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_handlers, "_PATIENCE_S", 0.05)
    set_handler(signal.SIGINT, signal.default_int_handler)
    reached = []

    @uninterrupted
    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # too early to be intended
        reached.append(1)
        time.sleep(0.06)
        signal.raise_signal(signal.SIGINT)
        reached.append(2)

    with pytest.raises(KeyboardInterrupt):
        twice()
    assert reached == [1]


class Finalized:
    """Whose finalizer a signal comes in."""

    @uninterrupted_finalizer
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGUSR1)
        self.is_done.append(True)

    is_done: list[bool] = []  # noqa: RUF012


def test_what_comes_in_a_finalizer_is_raised_after_it() -> None:
    with raising() as raised, pytest.raises(StopError):
        Finalized()
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            pass
    assert Finalized.is_done and len(raised) == 1


class Referenced:
    """An object that has only weak references in the end."""


def in_a_weak_set(value: Any) -> Any:
    return weakref.WeakSet([value])


def as_a_weak_key(value: Any) -> Any:
    return weakref.WeakKeyDictionary({value: 1})


def as_a_weak_value(value: Any) -> Any:
    return weakref.WeakValueDictionary({1: value})


def with_a_finalizer(value: Any) -> Any:
    return weakref.finalize(value, len, "text")


@pytest.mark.parametrize("hold", [in_a_weak_set, as_a_weak_key, as_a_weak_value, with_a_finalizer])
def test_what_comes_in_a_callback_of_a_weak_reference_is_raised_after_it(hold: Any) -> None:
    """At each place of the callback where Python looks for signals."""
    files = {str(weakref.__file__), str(sys.modules["_weakrefset"].__file__)}
    holders = []

    def drop() -> None:
        value = Referenced()
        holders.append(hold(value))
        del value
        ends = time.monotonic() + (20 if raised or PENDING else 0)
        while time.monotonic() < ends:
            pass

    for place in range(1, 200):
        with raising() as raised:
            came, came_out = stopped_at_call(files, drop, place)
        assert came_out is came, place
        if not came:
            break
    assert 3 < place < 199


def test_no_signal_is_lost_at_any_line_of_a_run() -> None:
    x = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    y = v.assign_add(x)
    files = {str(module.__file__) for module in (base_session, direct_runner, executor)}
    with tf.Session() as session, raising() as raised:
        session.run(v.initializer)
        for _ in range(3):
            value = session.run(y, {x: 1.0})
        place = 1
        while stopped_at_line(files, lambda: session.run(y, {x: 1.0}), place):
            now = session.run(v)
            assert now in (value, value + 1)
            value = session.run(y, {x: 1.0})
            assert value == now + 1
            place += 1
        assert len(raised) == place - 1 > 30


def test_an_error_of_tensorflows_that_a_handler_raises_is_no_error_of_a_step() -> None:
    error = tf.errors.AbortedError(None, None, "the handler's")

    def stop(number: int, frame: Any) -> None:
        raise error

    def user() -> float:
        signal.raise_signal(signal.SIGUSR1)
        return 1.0

    set_handler(signal.SIGUSR1, stop)
    with tf.Session() as session, pytest.raises(tf.errors.AbortedError) as failed:
        session.run(tf.py_func(user, [], tf.float64))
    assert failed.value is error
    assert error.message == "the handler's"


def test_a_long_run_keeps_handlers_waiting_for_a_second_only() -> None:
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [0])
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    add = v.assign_add(tf.cast(loop, tf.float32))
    seen = []

    def look(number: int, frame: Any) -> None:
        seen.append(session.run(v))  # which the run that goes on holds
        if len(seen) == 2:
            raise StopError

    set_handler(signal.SIGUSR1, look)
    with tf.Session() as session:
        session.run(v.initializer)
        for wait in (0.1, 1.5):
            timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.daemon = True
            timer.start()
        with pytest.raises(StopError):
            session.run(add)
        assert seen == [1.0, 1.0]
        assert session.run(v) == 1.0


WRITERS = {
    "whole": lambda path: whole_files.write_whole(path, b"new"),
    "npz": lambda path: conversion._write_file(path, _write, [], iter(())),
    "hdf5": lambda path: _write_hdf5(path),
}


def _write(file: Any, arrays: Any, values: Any) -> None:
    file.write(b"new")


def _write_hdf5(path: str) -> None:
    with hdf5_groups.written_file(path) as file:
        file["x"] = np.ones(3)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_file_is_replaced_or_not_at_any_line(kind: str, tmp_path: Path) -> None:
    if kind == "hdf5":
        pytest.importorskip("h5py")
    files = {str(module.__file__) for module in (whole_files, conversion, hdf5_groups)}
    path = tmp_path / "file"
    with raising() as raised:
        place = 1
        path.write_bytes(b"old")
        while stopped_at_line(files, lambda: WRITERS[kind](str(path)), place):
            content = path.read_bytes()
            assert content in (b"old", b"new") or content[1:4] == b"HDF"
            place += 1
        raised.clear()
        gc.collect()  # files that were open
    assert place > 10


def test_other_threads_may_come_first() -> None:
    """Handlers that were set before a thread made the first session are taken later."""
    run = """
import signal, threading
import gpugraph as tf
from gpugraph.base.interruptions import signal_handlers
handler = lambda number, frame: None
signal.signal(signal.SIGUSR1, handler)
thread = threading.Thread(target=tf.Session); thread.start(); thread.join()
assert signal_handlers._get_handler(signal.SIGUSR1) is handler
tf.Session()
assert signal_handlers._get_handler(signal.SIGUSR1) is signal_handlers._handle
assert signal.getsignal(signal.SIGUSR1) is handler
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
    subprocess.run([sys.executable, "-c", run], check=True, timeout=100)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_has_no_signals_of_its_parent() -> None:
    @uninterrupted
    def forked() -> int:
        signal.raise_signal(signal.SIGUSR1)
        child = os.fork()
        if not child:
            os._exit(len(PENDING))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    codes = []
    with raising(), pytest.raises(StopError):
        codes.append(uninterrupted(lambda: codes.append(forked()))())
    assert codes == [0]


def test_event_loops_are_told_once() -> None:
    calls = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, calls.append, 1)
        uninterrupted(lambda: signal.raise_signal(signal.SIGUSR1))()
        await asyncio.sleep(0.1)

    asyncio.run(main())
    assert calls == [1]


def test_ctrl_c_cancels_the_task_of_an_event_loop() -> None:
    set_handler(signal.SIGINT, signal.default_int_handler)
    ended = []

    async def main() -> None:
        try:
            uninterrupted(lambda: signal.raise_signal(signal.SIGINT))()
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert ended == ["cancelled"] or sys.version_info < (3, 11)
    assert getsignal(signal.SIGINT) is signal.default_int_handler


LEFT = {
    "cli/program_process.py": "the error of `sys.excepthook`, which is told",
    "cluster/core_streams.py": "in a thread",
    "cluster/listener.py": "in a thread",
    "cluster/ray_actors.py": "in an actor",
    "compile/steps/parallel_steps.py": "in a run, where no handler is called",
    "compile/steps/native_verification.py": "in a run, where no handler is called",
    "compile/steps/compiled_stretch.py": "in a run, where no handler is called",
    "devices/cuda/driver/cupy_bindings.py": "of an import",
    "library/keras/inputs/enqueuers.py": "in a thread, or another process",
    "ops/framework/shape_functions.py": "in `infer_shapes`, which is uninterrupted",
    "runtime/executor.py": "of a fetch, in a run, where no handler is called",
    "library/train/monitored_sessions/hooked_session.py": "of a thread, in the midst of an error",
    "library/train/monitored_sessions/supervisor.py": "kept and raised later, as in TensorFlow",
}
"""Where `except Exception` ends or changes errors, and why none is of a handler."""


def takes_any(function: ast.FunctionDef) -> bool:
    """Return whether a function ends errors of all classes, or changes them, those of handlers
    too.
    """
    if any("uninterrupted" in ast.unparse(each) for each in function.decorator_list):
        return False
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            is_any = ast.unparse(node.type) == "Exception"
            ends = [x for x in node.body if isinstance(x, ast.Raise) and x.exc is None]
            if is_any and not ends and "raised_by_handler" not in ast.unparse(node):
                return True
    return False


def test_no_error_of_a_handler_is_taken_for_another() -> None:
    taking = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "except Exception" in text:
            functions = [x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.FunctionDef)]
            if any(map(takes_any, functions)) or "\nexcept Exception" in text:
                taking.add(path.relative_to(PACKAGE).as_posix())
    assert taking == set(LEFT)

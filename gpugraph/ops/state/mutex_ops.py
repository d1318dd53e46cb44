"""Mutexes: MutexLock begins a section, and ConsumeMutexLock ends it.

Within a run, the compile pass `serial_updates` lets the sections of a mutex run one after another.
A section of another run waits until the mutex is unlocked. The end of a run unlocks its mutexes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import no_outputs, scalar
from gpugraph.plan import check_run

_PATIENCE_S = 0.1
"""The seconds between two checks for the run's time limit and for Ctrl-C."""


class _Mutex:
    """A mutex that a session keeps."""

    def __init__(self) -> None:
        self.lock = new_lock()


class _Section:
    """A section of a run. After `begin`, the first call of `release` unlocks the mutex."""

    def __init__(self, mutex: _Mutex) -> None:
        self._lock = mutex.lock
        self._held: threading.Lock | None = None

    def begin(self) -> None:
        """Lock the mutex, once no other section has locked it."""
        while not self._lock.acquire(timeout=_PATIENCE_S):
            check_run("in a critical section")
        self._held = self._lock

    def release(self) -> None:
        """Unlock the mutex."""
        if self._held is not None:
            self._held.release()
            self._held = None


def _bind_mutex(context: KernelContext, handle: Any) -> Callable[[], Any]:
    attrs = context.attrs
    mutex = context.shared(attrs["container"], attrs["shared_name"] or context.name, _Mutex)
    return lambda: handle.fill(mutex)


def _bind_lock(context: KernelContext, handle: Any, lock: Any) -> Callable[[], Any]:
    def run() -> None:
        section = _Section(handle.item(0))
        context.keep(section)  # so that a run that fails unlocks the mutex
        section.begin()
        lock.fill(section)

    return run


def _bind_unlock(context: KernelContext, lock: Any) -> Callable[[], Any]:
    del context
    return lambda: lock.item(0).release()


def _declare(op_type: str, bind: Any, doc: str, **declared: Any) -> None:
    call = Call(make=bind, late=True)
    op(op_type, cpu=call, gpu=call, grad=NO_GRADIENT, stateful=True, doc=doc, **declared)


_declare(
    "MutexV2", _bind_mutex, "A mutex of the session.",
    inputs="", outputs="resource: resource", infer=scalar,
    attrs={"container": Attr("string", ""), "shared_name": Attr("string", "")},
    memory=OpMemory(host_outputs=(0,)),
)  # fmt: skip
_declare(
    "MutexLock", _bind_lock, "The locked mutex, once no other section has locked it.",
    inputs="mutex: resource", outputs="mutex_lock: variant", infer=scalar,
    memory=OpMemory(host_inputs=(0,), host_outputs=(0,)),
)  # fmt: skip
_declare(
    "ConsumeMutexLock", _bind_unlock, "Unlocks a mutex.",
    inputs="mutex_lock: variant", infer=no_outputs, memory=OpMemory(host_inputs=(0,)),
)  # fmt: skip

"""Fake bindings of CuPy: each call is recorded, memory is the host's, kernels are Python's.

`FakeCuPy().install(monkeypatch)` replaces the modules that `cupy_driver` has imported, or failed
to import. Work is done as soon as it is enqueued; captured work is kept for the graph.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from gpugraph.devices.cuda.driver import cupy_driver

Kernel = Callable[["Arguments"], None]

_CONSTANTS = {
    "eventDisableTiming": 2,
    "hostAllocPortable": 1,
    "memcpyDeviceToDevice": 3,
    "memcpyDeviceToHost": 2,
    "memcpyHostToDevice": 1,
    "streamCaptureModeThreadLocal": 1,
    "streamNonBlocking": 1,
}


class FakeError(RuntimeError):
    """As CUDARuntimeError and CUDADriverError are."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaErrorNumber{status}: made up")
        self.status = status


class Arguments:
    """The values at the pointers of a launch."""

    def __init__(self, address: int) -> None:
        self._address = address

    def integer(self, index: int) -> int:
        return ctypes.c_int64.from_address(self._at(index)).value

    def number(self, index: int) -> float:
        return ctypes.c_double.from_address(self._at(index)).value

    def _at(self, index: int) -> int:
        return ctypes.c_uint64.from_address(self._address + 8 * index).value


class _Bindings:
    """`runtime` or `driver`: constants, and calls that are written down."""

    def __init__(self, fake: FakeCuPy, names: Sequence[str]) -> None:
        self._fake = fake
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name not in self._names:
            raise AttributeError(f"CuPy has no {name}")
        return partial(self._fake.call, name)


RUNTIME = (
    *("check_status", "deviceCanAccessPeer", "deviceEnablePeerAccess", "deviceGetAttribute"),
    *("deviceGetPCIBusId", "deviceSynchronize", "driverGetVersion", "eventCreateWithFlags"),
    *("eventDestroy", "eventQuery", "eventRecord", "eventSynchronize", "free", "freeHost"),
    "getDeviceCount",
    *("getDeviceProperties", "graphDestroy", "graphExecDestroy", "graphInstantiate"),
    *("graphLaunch", "graphUpload", "hostAlloc", "malloc", "memGetInfo", "memcpyAsync"),
    *("memcpyPeerAsync", "runtimeGetVersion", "setDevice", "streamBeginCapture"),
    *("streamCreateWithFlags", "streamDestroy", "streamEndCapture", "streamSynchronize"),
    "streamWaitEvent",
)
DRIVER = (
    *("ctxGetCurrent", "ctxSetCurrent", "funcSetAttribute", "launchKernel", "moduleGetFunction"),
    *("moduleLoadData", "moduleUnload"),
)


class FakeCuPy:
    """kernels: the function of each kernel. failures: the status that a call fails with, by its
    name.
    """

    def __init__(self, kernels: dict[str, Kernel] | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.kernels = kernels or {}
        self.failures: dict[str, int] = {}
        self.live: dict[int, Any] = {}
        self.answers: dict[str, Any] = {
            "driverGetVersion": 12080,
            "runtimeGetVersion": 12090,
            "getDeviceCount": 2,
            "getDeviceProperties": {"name": b"Fake H100"},
            "deviceGetPCIBusId": "0000:01:00.0",
            "deviceCanAccessPeer": 1,
            "memGetInfo": (3 << 30, 4 << 30),
            "ctxGetCurrent": 77,
            "eventQuery": 0,
        }
        self._next = 1000
        self._functions: dict[tuple[int, str], int] = {}
        self._captured: list[Callable[[], None]] | None = None
        self.runtime = _Bindings(self, RUNTIME)
        self.driver = _Bindings(self, DRIVER)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> FakeCuPy:
        monkeypatch.setattr(cupy_driver, "PROBLEM", "")
        monkeypatch.setattr(cupy_driver, "runtime", self.runtime)
        monkeypatch.setattr(cupy_driver, "driver", self.driver)
        return self

    def told(self, *names: str) -> list[tuple[Any, ...]]:
        """Return the calls of these names in order, or without names all recorded calls."""
        return [call for call in self.calls if (call[0] in names if names else True)]

    def names(self) -> list[str]:
        return [call[0] for call in self.calls if call[0] != "ctxSetCurrent"]

    def call(self, name: str, *arguments: Any) -> Any:
        self.calls.append((name, *arguments))
        if name in self.failures:
            raise FakeError(self.failures[name])
        if name in self.answers:
            return self.answers[name]
        done = getattr(self, f"_{name}", None)
        return None if done is None else done(*arguments)

    def _new(self, what: Any) -> int:
        self._next += 1
        self.live[self._next] = what
        return self._next

    def _take(self, handle: int) -> None:
        if handle:
            del self.live[handle]  # KeyError where it was destroyed twice, or never made

    def _enqueue(self, work: Callable[[], None]) -> None:
        if self._captured is None:
            work()
        else:
            self._captured.append(work)

    # -- the effects of the calls; a call without a method here does nothing

    def _deviceGetAttribute(self, number: int, ordinal: int) -> int:
        return {16: 132, 75: 9, 76: 0, 97: 232448}[number]

    def _check_status(self, status: int) -> None:
        raise FakeError(status)

    def _malloc(self, size: int, flags: int = 0) -> int:
        memory = ctypes.create_string_buffer(size)
        self.live[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory)

    _hostAlloc = _malloc
    _free = _freeHost = _eventDestroy = _streamDestroy = _moduleUnload = _take
    _graphDestroy = _graphExecDestroy = _take

    def _streamCreateWithFlags(self, flags: int) -> int:
        return self._new("stream")

    def _eventCreateWithFlags(self, flags: int) -> int:
        return self._new("event")

    def _memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        self._enqueue(lambda: ctypes.memmove(target, source, size) and None)

    def _memcpyPeerAsync(
        self, target: int, this: int, source: int, other: int, size: int, stream: int
    ) -> None:
        self._enqueue(lambda: ctypes.memmove(target, source, size) and None)

    def _moduleLoadData(self, cubin: bytes) -> int:
        return self._new(cubin)

    def _moduleGetFunction(self, module: int, name: str) -> int:
        assert module in self.live
        if (module, name) not in self._functions:
            self._functions[module, name] = self._new(self.kernels[name])
        return self._functions[module, name]

    def _launchKernel(self, function: int, *rest: Any) -> None:
        kernel, parameters = self.live[function], rest[8]
        self._enqueue(lambda: kernel(Arguments(parameters)))

    def _streamBeginCapture(self, stream: int, mode: int) -> None:
        self._captured = []

    def _streamEndCapture(self, stream: int) -> int:
        work, self._captured = self._captured, None
        return self._new(work)

    def _graphInstantiate(self, graph: int) -> int:
        return self._new(list(self.live[graph]))

    def _graphLaunch(self, graph: int, stream: int) -> None:
        for work in self.live[graph]:
            work()


def answer_probe(arguments: Arguments) -> None:
    """Do the same as the text of the kernel of `probe`."""
    out = (ctypes.c_int64 * 32).from_address(arguments.integer(0))
    for thread in range(32):
        out[thread] = arguments.integer(1) * int(arguments.number(2)) + thread

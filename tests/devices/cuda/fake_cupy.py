"""Fake bindings of CuPy: each call is recorded, memory is the host's, kernels are Python's.

`FakeCuPy().install(monkeypatch)` replaces the modules that `cupy_bindings` has imported, or failed
to import. Work is done as soon as it is enqueued; captured work is kept for the graph.

The functions are those of cupy_signatures.txt: calls must fit their parameters and the ranges of
their C types. Each thread has a current context, as in CUDA; objects must be used in theirs.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from gpugraph.devices.cuda.driver import cupy_bindings

Kernel = Callable[["Arguments"], None]

TABLE = Path(__file__).with_name("cupy_signatures.txt")
CONTEXT = 77
"""The context of GPU 0; GPU 1 has the next number."""

CONTEXT_CALLS = ("ctxGetCurrent", "ctxSetCurrent")
_RANGES = {
    "intptr_t": (-(1 << 63), 1 << 63),
    "size_t": (0, 1 << 64),
    "int": (-(1 << 31), 1 << 31),
    "unsigned int": (0, 1 << 32),
}
_WITHOUT_CONTEXT = {
    *("check_status", "deviceCanAccessPeer", "deviceGetAttribute", "deviceGetPCIBusId"),
    *("driverGetVersion", "getDeviceCount", "getDeviceProperties", "runtimeGetVersion"),
    *("setDevice", *CONTEXT_CALLS),
}


@cache
def signatures() -> dict[str, list[tuple[str, bool]] | int]:
    """Return the value of each constant, and the parameters of each function of CuPy's bindings:
    the type, and whether there is a default.
    """
    found: dict[str, list[tuple[str, bool]] | int] = {}
    for line in TABLE.read_text("utf-8").splitlines():
        if match := re.match(r"(\w+\.\w+) = (\d+)$", line):
            found[match[1]] = int(match[2])
        elif match := re.match(r"(\w+\.\w+)\((.*)\)", line):
            parts = [part.strip() for part in match[2].split(",") if part]
            found[match[1]] = [(part.rpartition(" ")[0], "=" in part) for part in parts]
    return found


def check_arguments(name: str, arguments: tuple[Any, ...]) -> None:
    """Raise TypeError or OverflowError for arguments that CuPy's function would refuse."""
    parameters = signatures()[name]
    assert isinstance(parameters, list)
    least = sum(not has_default for _, has_default in parameters)
    if not least <= len(arguments) <= len(parameters):
        raise TypeError(f"{name} takes {parameters}, not {arguments!r}")
    for (kind, _), value in zip(parameters, arguments):
        if kind in _RANGES:
            low, high = _RANGES[kind]
            if not low <= value.__index__() < high:
                raise OverflowError(f"{name}: {value} is no {kind}")
        elif not isinstance(value, {"str": str, "bytes": bytes}[kind]):
            raise TypeError(f"{name}: {value!r} is no {kind}")


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

    def __init__(self, fake: FakeCuPy, module: str) -> None:
        self._fake = fake
        self._module = module

    def __getattr__(self, name: str) -> Any:
        known = signatures().get(f"{self._module}.{name}")
        if known is None:
            raise AttributeError(f"CuPy has no {name}")
        if isinstance(known, int):
            return known
        return partial(self._call, name)

    def _call(self, name: str, *arguments: Any) -> Any:
        check_arguments(f"{self._module}.{name}", arguments)
        return self._fake.call(name, *arguments)


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
            "eventQuery": 0,
        }
        self._next = 1000
        self._functions: dict[tuple[int, str], int] = {}
        self._captured: list[Callable[[], None]] | None = None
        self._thread = threading.local()
        self._owners: dict[int, int] = {}
        self.damaged: set[tuple[int, int]] = set()  # GPUs between which direct copies do nothing
        self.runtime = _Bindings(self, "runtime")
        self.driver = _Bindings(self, "driver")

    def install(self, monkeypatch: pytest.MonkeyPatch) -> FakeCuPy:
        monkeypatch.setattr(cupy_bindings, "PROBLEM", "")
        monkeypatch.setattr(cupy_bindings, "runtime", self.runtime)
        monkeypatch.setattr(cupy_bindings, "driver", self.driver)
        return self

    def told(self, *names: str) -> list[tuple[Any, ...]]:
        """Return the calls of these names in order, or without names all recorded calls."""
        return [call for call in self.calls if (call[0] in names if names else True)]

    def names(self) -> list[str]:
        return [call[0] for call in self.calls if call[0] not in CONTEXT_CALLS]

    @property
    def current(self) -> int:
        """The current context of this thread, 0 if none."""
        return int(getattr(self._thread, "context", 0))

    def call(self, name: str, *arguments: Any) -> Any:
        self.calls.append((name, *arguments))
        if name in self.failures:
            raise FakeError(self.failures[name])
        assert name in _WITHOUT_CONTEXT or self.current, f"{name} without a context"
        if name in self.answers:
            return self.answers[name]
        done = getattr(self, f"_{name}", None)
        return None if done is None else done(*arguments)

    def _new(self, what: Any) -> int:
        self._next += 1
        self.live[self._next] = what
        self._owners[self._next] = self.current
        return self._next

    def _take(self, handle: int) -> None:
        if handle:
            del self.live[handle]  # KeyError where it was destroyed twice, or never made
            assert self._owners[handle] == self.current, "destroyed in another context"

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

    def _setDevice(self, ordinal: int) -> None:
        self._thread.context = CONTEXT + ordinal

    def _ctxSetCurrent(self, context: int) -> None:
        self._thread.context = context

    def _ctxGetCurrent(self) -> int:
        return self.current

    def _malloc(self, size: int, flags: int = 0) -> int:
        memory = ctypes.create_string_buffer(size)
        address = ctypes.addressof(memory)
        self.live[address], self._owners[address] = memory, self.current
        return address

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
        if (other, this) in self.damaged:
            return
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

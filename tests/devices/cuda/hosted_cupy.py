"""Fake bindings of CuPy, whose kernels are CUDA texts run on the host: whole programs on them.

They refuse calls that CUDA refuses while a stream is captured, and arguments that CuPy refuses.
"""

from __future__ import annotations

from typing import Any

from gpugraph.devices.cuda.driver.cupy_driver import CupyDriver
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.devices.cuda.emulation.cxx_compiler import load

from .fake_cupy import Arguments, FakeCuPy, FakeError

__all__ = ["HostedCuPy"]

NOT_WHILE_CAPTURING = {
    *("malloc", "free", "hostAlloc", "freeHost", "memGetInfo", "eventQuery", "streamSynchronize"),
    *("streamDestroy", "moduleLoadData", "moduleGetFunction", "moduleUnload", "funcSetAttribute"),
    *("eventDestroy", "eventSynchronize", "graphExecDestroy", "streamBeginCapture"),
}


class HostedCuPy(FakeCuPy):
    """One GPU of 4 GiB. Modules are loaded from text, which `compiled` gives in a cubin's place."""

    def __init__(self) -> None:
        super().__init__()
        self.answers["getDeviceCount"] = 1

    def driver_of(self, ordinal: int) -> CupyDriver:
        return CupyDriver(ordinal, compiled)

    def call(self, name: str, *arguments: Any) -> Any:
        for value in arguments:
            assert type(value) in (int, bytes, str), f"{name} is given {value!r}"
        if self._captured is not None and name in NOT_WHILE_CAPTURING:
            self.calls.append(("refused", name))
            raise FakeError(900)
        return super().call(name, *arguments)

    def _moduleLoadData(self, text: bytes) -> int:
        return self._new(load(text.decode(), "hosted"))

    def _moduleGetFunction(self, module: int, name: str) -> int:
        result = self.live[module]
        self.kernels = {name: lambda arguments: (result, name)}
        return super()._moduleGetFunction(module, name)

    def _launchKernel(self, function: int, *rest: Any) -> None:
        module, name = self.live[function](None)
        geometry = Geometry(rest[:3], rest[3:6], rest[6])
        parameters = Arguments(rest[8])

        def run() -> None:
            inputs = [
                parameters.number(index) if kind == "d" else parameters.integer(index)
                for index, kind in enumerate(module.kernels[name])
            ]
            module.launch(name, geometry, inputs)

        self._enqueue(run)


def compiled(text: str, arch: str, name: str) -> bytes:
    return text.encode()

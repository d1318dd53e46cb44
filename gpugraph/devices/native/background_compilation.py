"""Background compilation of programs and loops to functions. Each program is compiled only once,
and a C source contains several programs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Generic, TypeVar

from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.codegen.c_types import TRIGONOMETRY
from gpugraph.devices.codegen.compilation import Compilation
from gpugraph.devices.codegen.program import Program, WhileProgram
from gpugraph.devices.native.c_kernel_source import KernelSource
from gpugraph.devices.native.c_while_loop_source import LoopSource
from gpugraph.devices.native.compiled_functions import CompiledFunction, LoopFunction
from gpugraph.devices.native.native_runtime import RUNTIME, Runtime, kernel_file

UNIT = 16
"""The number of functions in one source: enough to share the fixed cost of a compilation, but few
enough for it to end soon.
"""

Compiled = TypeVar("Compiled")


class Prepared(Generic[Compiled]):
    """A function that is compiled, or may be compiled later."""

    def __init__(
        self, compilation: Compilation, load: Callable[[ctypes.CDLL, Runtime], Compiled]
    ) -> None:
        self._compilation = compilation
        self._load = load
        self._function: Compiled | None = None

    @property
    def reason(self) -> str:
        """The reason why the function will never exist, or "" if it exists or may still be
        compiled.
        """
        return self._compilation.reason or RUNTIME.reason

    def get(self, wait: bool = False) -> Compiled | None:
        """Return the function. Return None if its compilation failed, or if the compilation has not
        ended and `wait` is False.
        """
        if self._function is None and (wait or self._compilation.done):
            library, runtime = self._compilation.wait(), RUNTIME.get(wait)
            if library is not None and runtime is not None:
                self._function = self._load(library, runtime)
        return self._function

    def get_within(self, seconds: float) -> Compiled | None:
        """Return the function, or None if it is not compiled within `seconds`. If no thread is
        compiling it, the calling thread compiles it.
        """
        if self._function is None and seconds > 0:
            end = perf_counter() + seconds
            self._compilation.wait(seconds)
            RUNTIME.start().wait(max(0.0, end - perf_counter()))
        return self.get()


_PROGRAMS: dict[Program, Prepared[CompiledFunction]] = {}
_LOOPS: dict[WhileProgram, Prepared[LoopFunction]] = {}


def prepare(programs: Sequence[Program]) -> list[Prepared[CompiledFunction]]:
    """Return a `Prepared` for each program, in order, and start to compile the programs that were
    not prepared before.

    The compilation runs in the background, unless GPUGRAPH_NATIVE is "wait".
    """
    return _prepare(programs, _PROGRAMS, KernelSource, CompiledFunction)


def prepare_loops(loops: Sequence[WhileProgram]) -> list[Prepared[LoopFunction]]:
    """Return a `Prepared` for each loop, in order, and start to compile the loops that were not
    prepared before. Raises NotNativeError if a loop can't become one function.
    """
    return _prepare(loops, _LOOPS, LoopSource, LoopFunction)


def _prepare(keys: Sequence[Any], known: dict[Any, Any], write: Any, function: Any) -> list[Any]:
    if compiler().reason:
        known = {}  # do not remember results while nothing can be compiled
    sources = {key: write(key) for key in dict.fromkeys(keys) if key not in known}
    new = list(sources)
    if new:
        RUNTIME.start()
    for first in range(0, len(new), UNIT):
        unit = new[first : first + UNIT]
        name = f"{len(unit)} native kernels" if len(unit) > 1 else "a native kernel"
        source = unit_source([sources[key].source for key in unit])
        compilation = compiler().start(source, name)
        for key in unit:
            known[key] = Prepared(compilation, _loader(function, sources[key]))
    return [known[key] for key in keys]


def _loader(function: Any, source: Any) -> Callable[[ctypes.CDLL, Runtime], Any]:
    return lambda library, runtime: function(source, library, runtime)


def unit_source(bodies: Sequence[str]) -> str:
    """Return one C source with these function bodies and the headers that the bodies need."""
    shared = [kernel_file("host_math.h"), kernel_file("float_to_integer.h")]
    if any(TRIGONOMETRY.search(body) for body in bodies):
        shared.append(kernel_file("host_trigonometry.h"))
    return "".join([*shared, kernel_file("host_kernel.h"), *bodies])

"""Programs and loops on their way to functions: compiled once, several as one text."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from gpugraph.devices.codegen.c_compiler import Compilation, compiler
from gpugraph.devices.codegen.c_types import TRIGONOMETRY
from gpugraph.devices.codegen.program import Loop, Program
from gpugraph.devices.native.c_kernel_source import KernelSource
from gpugraph.devices.native.c_while_loop_source import LoopSource
from gpugraph.devices.native.compiled_functions import Function, LoopFunction
from gpugraph.devices.native.native_runtime import RUNTIME, Runtime, kernel_file

UNIT = 16
"""Functions of one text: enough to share what each compilation costs, and soon done."""

Made = TypeVar("Made")


class Prepared(Generic[Made]):
    """A function that is compiled, or on its way."""

    def __init__(
        self, compilation: Compilation, make: Callable[[ctypes.CDLL, Runtime], Made]
    ) -> None:
        self._compilation = compilation
        self._make = make
        self._made: Made | None = None

    @property
    def reason(self) -> str:
        """Why there is no function and will be none; empty otherwise."""
        return self._compilation.reason or RUNTIME.reason

    def get(self, wait: bool = False) -> Made | None:
        """The function; None while it is not done (unless asked to wait), and if it failed."""
        if self._made is None and (wait or self._compilation.done):
            library, runtime = self._compilation.wait(), RUNTIME.get(wait)
            if library is not None and runtime is not None:
                self._made = self._make(library, runtime)
        return self._made


_PROGRAMS: dict[Program, Prepared[Function]] = {}
_LOOPS: dict[Loop, Prepared[LoopFunction]] = {}


def prepare(programs: Sequence[Program]) -> list[Prepared[Function]]:
    """Begins to compile programs, those that are new, several as one text; each once.

    In the background, unless GPUGRAPH_NATIVE is "wait".
    """
    return _prepare(programs, _PROGRAMS, KernelSource, Function)


def prepare_loops(loops: Sequence[Loop]) -> list[Prepared[LoopFunction]]:
    """The same for loops. NotNativeError for one that can't be a function."""
    return _prepare(loops, _LOOPS, LoopSource, LoopFunction)


def _prepare(wanted: Sequence[Any], known: dict[Any, Any], text: Any, function: Any) -> list[Any]:
    if compiler().reason:
        known = {}  # of a compiler that is switched off for now nothing is remembered
    new = [each for each in dict.fromkeys(wanted) if each not in known]
    if new:
        RUNTIME.start()
    texts = [text(each) for each in new]
    for first in range(0, len(new), UNIT):
        unit = texts[first : first + UNIT]
        name = f"{len(unit)} native kernels" if len(unit) > 1 else "a native kernel"
        compilation = compiler().start(unit_text([each.source for each in unit]), name)
        for each, its_text in zip(new[first:], unit):
            known[each] = Prepared(compilation, _maker(function, its_text))
    return [known[each] for each in wanted]


def _maker(function: Any, text: Any) -> Callable[[ctypes.CDLL, Runtime], Any]:
    return lambda library, runtime: function(text, library, runtime)


def unit_text(bodies: Sequence[str]) -> str:
    """The C text of several functions."""
    shared = [kernel_file("host_math.h")]
    if any(TRIGONOMETRY.search(each) for each in bodies):
        shared.append(kernel_file("host_trigonometry.h"))
    return "".join([*shared, kernel_file("host_kernel.h"), *bodies])

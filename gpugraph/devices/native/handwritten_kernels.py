"""C functions of single ops (`CSource`): files of `kernels/`, compiled and bound to arrays.

    file = prepare_source("host_convolution.h").get()      None while it is compiled
    run = file.bind("gg_conv2d", parameters, arrays)        a call, as of other kernels
    run()

A file is compiled once for float32 and for float64; which one is meant is told by the arrays.
kernels/host/host_source.h says what a function is given.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import InternalError
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native.background_compilation import Prepared
from gpugraph.devices.native.compiled_functions import RELEASE_NANOSECONDS
from gpugraph.devices.native.native_runtime import (
    RUNTIME,
    Call,
    Runtime,
    address_of,
    kernel_file,
    thread_count,
)

_REALS = {"float32": ("float", "f32"), "float64": ("double", "f64")}
"""By dtype: the C type, and how functions of it end."""

_INCLUDE = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)

_MOST_ARRAYS = 4
_LINE = 64
"""Of kernels/host/host_source.h."""


class _Source(ctypes.Structure):
    """`gg_source` of kernels/host/host_source.h."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("parallel", ctypes.c_void_p),
        ("threads", ctypes.c_int64),
        ("parameters", ctypes.c_void_p),
        ("at", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p),
        ("scratch_bytes", ctypes.c_int64),
        ("nanoseconds", ctypes.c_int64),
        ("count", ctypes.c_int64 * _MOST_ARRAYS),
    )


class SourceFile:
    """A compiled file."""

    def __init__(self, file: str, library: ctypes.CDLL, runtime: Runtime) -> None:
        self.file = file
        self._library = library
        self._runtime = runtime

    def bind(self, function: str, parameters: Sequence[int], arrays: Sequence[Any]) -> Call:
        """What computes the outputs of the inputs when called: arrays has both, in this order.

        C-ordered NumPy arrays, all float32 or all float64; no output overlaps another array.
        One call at a time. It returns 0. InternalError when an array does not fit the parameters.
        """
        dtype = str(arrays[0].dtype)
        if dtype not in _REALS or any(str(each.dtype) != dtype for each in arrays):
            said = ", ".join(str(each.dtype) for each in arrays)
            raise InternalError(None, None, f"{function} has no version for {said}")
        ending = _REALS[dtype][1]
        entry = address_of(getattr(self._library, f"{function}_{ending}"))
        block = _Source(entry, self._runtime.parallel)
        given = (ctypes.c_int64 * len(parameters))(*parameters)
        at = (ctypes.c_void_p * len(arrays))(*(each.ctypes.data for each in arrays))
        block.parameters, block.at = ctypes.addressof(given), ctypes.addressof(at)
        block.threads = thread_count()
        getattr(self._library, f"{function}_plan_{ending}")(ctypes.byref(block))
        _check(function, block, arrays)
        scratch = _lines(block.scratch_bytes)
        block.scratch = scratch.ctypes.data
        release = block.nanoseconds >= RELEASE_NANOSECONDS
        return self._runtime.call(block, (given, at, scratch, *arrays), release)


def _lines(size: int) -> Any:
    """So many bytes of zeros, from the beginning of a cache line on."""
    held = np.zeros(size + _LINE, np.uint8)
    start = -held.ctypes.data % _LINE
    return held[start : start + size]


def _check(function: str, block: _Source, arrays: Sequence[Any]) -> None:
    """InternalError unless the arrays have the sizes that the function's plan says."""
    wanted = [int(each) for each in block.count]
    found = [each.size for each in arrays] + [0] * (_MOST_ARRAYS - len(arrays))
    plain = all(each.flags.c_contiguous and each.flags.aligned for each in arrays)
    if found != wanted or not plain or not arrays[-1].flags.writeable:
        said = ", ".join(f"{list(each.shape)}" for each in arrays)
        raise InternalError(
            None,
            None,
            f"{function} needs C-ordered arrays of {wanted} elements, the last one writeable, but "
            f"was given {said}",
        )


_FILES: dict[str, Prepared[SourceFile]] = {}


def prepare_source(file: str) -> Prepared[SourceFile]:
    """Begins to compile `kernels/<file>`, once.

    In the background, unless GPUGRAPH_NATIVE is "wait".
    """
    if file in _FILES and not compiler().reason:
        return _FILES[file]
    RUNTIME.start()
    compilation = compiler().start(source_text(file), f"kernels/{file}")
    made = Prepared(compilation, lambda library, runtime: SourceFile(file, library, runtime))
    if not compiler().reason:  # of a compiler that is switched off for now nothing is remembered
        _FILES[file] = made
    return made


def source_text(file: str) -> str:
    """The whole C text of a file."""
    parts = [kernel_file("host_kernel.h"), kernel_file("host_source.h")]
    for real, ending in _REALS.values():
        parts += [
            f"#undef gg_real\n#undef GG_NAME\n#define gg_real {real}\n",
            f"#define GG_NAME(name) name##_{ending}\n",
            _expanded(file),
        ]
    return "".join(parts)


def _expanded(file: str) -> str:
    """The text of a file of `kernels/` with what it includes of others there."""
    return _INCLUDE.sub(lambda found: _expanded(found[1]), kernel_file(file))

"""C functions of single ops (`CSource`): files of `kernels/`, compiled and bound to arrays.

    file = prepare_source("host_convolution.h").get()      None while it is compiled
    run = file.bind("gg_conv2d", parameters, arrays)        a call, as of other kernels
    run()

A file is compiled for float32, for float64, or for both: then the arrays decide which one runs.
kernels/host/host_source.h has what a function gets.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.config.environment import thread_count
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native.background_compilation import Prepared
from gpugraph.devices.native.compiled_functions import RELEASE_NANOSECONDS
from gpugraph.devices.native.native_runtime import (
    RUNTIME,
    Call,
    Runtime,
    address_of,
    internal_error,
    kernel_file,
)

_REALS = {"float32": ("float", "f32"), "float64": ("double", "f64")}
"""By dtype: the C type, and the ending of its functions' names."""

_INCLUDE = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)

_MOST_ARRAYS = 4
_LINE = 64
"""Of kernels/host/host_source.h."""


class _Source(ctypes.Structure):
    """`gg_source` of kernels/host/host_source.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "parallel")),
        ("threads", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("parameters", "at", "scratch")),
        *((name, ctypes.c_int64) for name in ("scratch_bytes", "nanoseconds")),
        ("count", ctypes.c_int64 * _MOST_ARRAYS),
    )


def _new_bytes(size: int) -> Any:
    """Memory that holds anything."""
    return np.full(size, 255, np.uint8)


class SourceFile:
    """A compiled file."""

    def __init__(self, file: str, library: ctypes.CDLL, runtime: Runtime) -> None:
        self.file = file
        self._library = library
        self._runtime = runtime

    def bind(
        self,
        function: str,
        parameters: Sequence[int],
        arrays: Sequence[Any],
        new_scratch: Callable[[int], Any] = _new_bytes,
    ) -> Call:
        """A call that computes the outputs of the inputs: `arrays` has both, in this order.

        new_scratch: gives so many bytes, which calls that never run at once may share.

        C-ordered NumPy arrays, all float32 or all float64; no output overlaps another array.
        One call at a time. It returns 0. InternalError when an array does not fit the parameters.
        """
        dtype = str(arrays[0].dtype)
        if dtype not in _REALS or any(str(array.dtype) != dtype for array in arrays):
            dtypes = ", ".join(str(array.dtype) for array in arrays)
            raise internal_error(f"{function} has no version for {dtypes}")
        ending = _REALS[dtype][1]
        if not hasattr(self._library, f"{function}_{ending}"):
            raise internal_error(f"{function} is not compiled for {dtype}")
        entry = address_of(getattr(self._library, f"{function}_{ending}"))
        block = _Source(entry, self._runtime.parallel)
        numbers = (ctypes.c_int64 * len(parameters))(*parameters)
        addresses = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        block.parameters, block.at = ctypes.addressof(numbers), ctypes.addressof(addresses)
        block.threads = thread_count()
        getattr(self._library, f"{function}_plan_{ending}")(ctypes.byref(block))
        _check(function, block, arrays)
        scratch = _aligned(new_scratch(block.scratch_bytes + _LINE))
        block.scratch = scratch.ctypes.data
        release = block.nanoseconds >= RELEASE_NANOSECONDS
        return self._runtime.call(block, (numbers, addresses, scratch, *arrays), release)


def _aligned(buffer: Any) -> Any:
    """The bytes from the beginning of a cache line on."""
    return buffer[-buffer.ctypes.data % _LINE :]


def _check(function: str, block: _Source, arrays: Sequence[Any]) -> None:
    """InternalError unless the arrays have the sizes of the function's plan."""
    wanted = list(block.count)
    sizes = [array.size for array in arrays] + [0] * (_MOST_ARRAYS - len(arrays))
    is_plain = all(array.flags.c_contiguous and array.flags.aligned for array in arrays)
    if sizes != wanted or not is_plain or not arrays[-1].flags.writeable:
        shapes = ", ".join(f"{list(array.shape)}" for array in arrays)
        raise internal_error(
            f"{function} needs C-ordered arrays of {wanted} elements, the last one writeable, but "
            f"was given {shapes}"
        )


_FILES: dict[tuple[str, str], Prepared[SourceFile]] = {}


def prepare_source(file: str, dtype: str = "") -> Prepared[SourceFile]:
    """Begins to compile `kernels/<file>`, once: for "float32", "float64", or by default for both.

    In the background, unless GPUGRAPH_NATIVE is "wait".
    """
    if (file, dtype) in _FILES and not compiler().reason:
        return _FILES[file, dtype]
    RUNTIME.start()
    compilation = compiler().start(whole_source(file, dtype), f"kernels/{file}")
    prepared = Prepared(compilation, lambda library, runtime: SourceFile(file, library, runtime))
    if not compiler().reason:  # nothing is remembered of one that is switched off
        _FILES[file, dtype] = prepared
    return prepared


def whole_source(file: str, dtype: str = "") -> str:
    """The whole C source of a file, for a dtype or for both."""
    parts = [kernel_file("host_kernel.h"), kernel_file("host_source.h")]
    for real, ending in [_REALS[dtype]] if dtype in _REALS else _REALS.values():
        parts += [
            f"#undef gg_real\n#undef GG_NAME\n#define gg_real {real}\n",
            f"#define GG_NAME(name) name##_{ending}\n",
            _expand(file),
        ]
    return "".join(parts)


def _expand(file: str) -> str:
    """The source of a file of `kernels/`, with the files there that it includes."""
    return _INCLUDE.sub(lambda include: _expand(include[1]), kernel_file(file))

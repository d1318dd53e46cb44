"""Handwritten kernels: C functions for single ops, in files of `kernels/`. The files are compiled,
and the functions are bound to arrays.

    file = prepare_source("host_convolution.h").get()      None while it is compiled
    run = file.bind("gg_conv2d", parameters, arrays)        a native call
    run()

A file is compiled for one dtype, or for both float32 and float64. If it is compiled for both, the
dtype of the arrays selects the function. host_source.h declares the functions' arguments.
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
from gpugraph.devices.native.open_calls import OpenCall, OpenTable
from gpugraph.devices.native.open_views import Address, OpenView

BYTES = "bytes"
"""A value used instead of a dtype, for functions that only copy elements."""

_REALS = {"float32": ("float", "f32"), "float64": ("double", "f64")}
_TYPES = {
    **_REALS,
    "int32": ("int32_t", "i32"),
    "int64": ("int64_t", "i64"),
    BYTES: ("uint8_t", "u8"),
}
"""The C type of an element, and the suffix of the functions' names, by dtype."""

ROW_TYPES = tuple(_TYPES)
"""The dtypes for which files with functions over rows are compiled."""

_NO_SCRATCH = np.zeros(128, np.uint8)
"""The memory of functions that need none: the two cache lines contain an aligned one."""

_INCLUDE = re.compile(r'^#include "(\w+\.(?:h|cuh))"$', re.MULTILINE)

_MOST_ARRAYS = 68
_LINE = 64
"""The size of a cache line in bytes; host_source.h has the same constant."""


class _Source(ctypes.Structure):
    """The C structure `gg_source` of host_source.h: a call of a handwritten function."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "parallel")),
        ("threads", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("parameters", "at", "scratch")),
        *((name, ctypes.c_int64) for name in ("scratch_bytes", "nanoseconds")),
        ("count", ctypes.c_int64 * _MOST_ARRAYS),
    )


def _new_bytes(size: int) -> Any:
    """Return new memory in which each byte is 255, so that a kernel that reads a byte before
    writing it gives visibly wrong results.
    """
    return np.full(size, 255, np.uint8)


class SourceFile:
    """A compiled file of `kernels/`."""

    def __init__(self, file: str, library: ctypes.CDLL, runtime: Runtime) -> None:
        self.file = file
        self._library = library
        self._runtime = runtime
        self._functions: dict[tuple[str, str], tuple[int, Any]] = {}

    def bind(
        self,
        function: str,
        parameters: Sequence[int],
        arrays: Sequence[Any],
        new_scratch: Callable[[int], Any] = _new_bytes,
        dtype: str = "",
    ) -> Call:
        """Return a call of a function with these arrays.

        The call returns 0, or another status if it rejects its inputs. The call must not run in two
        threads at the same time.

        Raises InternalError if an array does not match the parameters.

        Args:
          arrays: the function's inputs, followed by its outputs. They are C-ordered NumPy arrays,
            by default all float32 or all float64. No output may overlap another array.
          new_scratch: a function that allocates a number of bytes. Calls that never run at the same
            time may share this memory.
          dtype: the dtype for which the function was compiled, if the arrays have different dtypes.
        """
        name = dtype or _common_dtype(function, arrays)
        if any(isinstance(array, OpenView) for array in arrays):
            places = [array.ctypes.data for array in arrays]
            return self._open_call(function, name, parameters, places, new_scratch)
        addresses = [array.ctypes.data for array in arrays]
        block, keep = self._plan(function, name, parameters, addresses)
        _check(function, block, arrays)
        return self._call(block, (*keep, *arrays), new_scratch)

    def bind_addresses(
        self,
        function: str,
        dtype: str,
        parameters: Sequence[int],
        addresses: Sequence[int],
        keep: Sequence[Any],
        new_scratch: Callable[[int], Any] = _new_bytes,
    ) -> Call:
        """Return a call of a function with memory that the caller has checked.

        Args:
          keep: objects that own the memory and must live as long as the call.
        """
        if any(isinstance(address, (Address, OpenTable)) for address in addresses):
            return self._open_call(function, dtype, parameters, addresses, new_scratch)
        block, memory = self._plan(function, dtype, parameters, addresses)
        return self._call(block, (*memory, *keep), new_scratch)

    def _open_call(
        self,
        function: str,
        dtype: str,
        parameters: Sequence[Any],
        addresses: Sequence[Any],
        new_scratch: Callable[[int], Any],
    ) -> OpenCall:
        """Return the call for views with open sizes."""
        return OpenCall(
            {},
            {"parameters": parameters, "at": addresses},
            address_of(getattr(self._library, f"{function}_plan_{_TYPES[dtype][1]}")),
            {},
            ("nanoseconds", RELEASE_NANOSECONDS),
            new_scratch,
        )

    def _plan(
        self, function: str, dtype: str, parameters: Sequence[int], addresses: Sequence[int]
    ) -> tuple[_Source, tuple[Any, ...]]:
        """Return the block of a call, and the objects that must live as long as the block. The
        function's plan function, which is written in C, fills in the block.
        """
        entry, plan = self._function(function, dtype)
        block = _Source(entry, self._runtime.parallel)
        numbers = (ctypes.c_int64 * len(parameters))(*parameters)
        places = (ctypes.c_void_p * len(addresses))(*addresses)
        block.parameters, block.at = ctypes.addressof(numbers), ctypes.addressof(places)
        block.threads = thread_count()
        plan(ctypes.byref(block))
        return block, (numbers, places)

    def _function(self, function: str, dtype: str) -> tuple[int, Any]:
        """Return the address of a function for a dtype, and its C plan function."""
        key = function, dtype
        if key not in self._functions:
            ending = _TYPES[dtype][1]
            if not hasattr(self._library, f"{function}_{ending}"):
                raise internal_error(f"{function} is not compiled for {dtype}")
            entry = address_of(getattr(self._library, f"{function}_{ending}"))
            self._functions[key] = entry, getattr(self._library, f"{function}_plan_{ending}")
        return self._functions[key]

    def _call(self, block: _Source, keep: Sequence[Any], new_scratch: Callable[[int], Any]) -> Call:
        size = block.scratch_bytes
        scratch = _aligned(new_scratch(size + _LINE) if size else _NO_SCRATCH)
        block.scratch = scratch.ctypes.data
        release = block.nanoseconds >= RELEASE_NANOSECONDS
        return self._runtime.call(block, (scratch, *keep), release)


def _common_dtype(function: str, arrays: Sequence[Any]) -> str:
    """Return the common dtype of all arrays. Raises InternalError if the arrays have different
    dtypes, or a dtype other than float32 and float64.
    """
    dtypes = [str(array.dtype) for array in arrays]
    if dtypes[0] not in _REALS or len(set(dtypes)) > 1:
        raise internal_error(f"{function} has no version for {', '.join(dtypes)}")
    return dtypes[0]


def _aligned(buffer: Any) -> Any:
    """Return the buffer from its first address that is a multiple of the cache line's size."""
    return buffer[-buffer.ctypes.data % _LINE :]


def _check(function: str, block: _Source, arrays: Sequence[Any]) -> None:
    """Raise InternalError unless the arrays have C order and the sizes that the block requires, and
    the last array is writeable.
    """
    wanted = list(block.count)
    sizes = [array.size for array in arrays] + [0] * (_MOST_ARRAYS - len(arrays))
    is_plain = all(array.flags.c_contiguous and array.flags.aligned for array in arrays)
    if sizes != wanted or not is_plain or not arrays[-1].flags.writeable:
        shapes = ", ".join(f"{list(array.shape)}" for array in arrays)
        raise internal_error(
            f"{function} needs C-ordered arrays of {wanted} elements, the last one writeable, but "
            f"was given {shapes}"
        )


Macros = tuple[tuple[str, str], ...]
"""C macros, as pairs of a name and its replacement."""

_FILES: dict[tuple[str, str, Macros], Prepared[SourceFile]] = {}


def prepare_source(file: str, dtype: str = "", macros: Macros = ()) -> Prepared[SourceFile]:
    """Start to compile the file `kernels/<file>`, and return its `Prepared`. The file is compiled
    once for each set of arguments.

    The compilation runs in the background, unless GPUGRAPH_NATIVE is "wait".

    Args:
      dtype: the dtype to compile for, or "" to compile for both float32 and float64.
    """
    key = file, dtype, macros
    if key in _FILES and not compiler().reason:
        return _FILES[key]
    RUNTIME.start()
    compilation = compiler().start(whole_source(file, dtype, macros), f"kernels/{file}")
    prepared = Prepared(compilation, lambda library, runtime: SourceFile(file, library, runtime))
    if not compiler().reason:  # do not remember results while nothing can be compiled
        _FILES[key] = prepared
    return prepared


def whole_source(file: str, dtype: str = "", macros: Macros = ()) -> str:
    """Return the complete C source of a file, with its includes and macros, for one dtype or for
    both float32 and float64.
    """
    parts = [kernel_file("host_kernel.h"), kernel_file("host_source.h")]
    parts += [f"#define {name} {text}\n" for name, text in macros]
    for real, ending in [_TYPES[dtype]] if dtype in _TYPES else _REALS.values():
        parts += [
            f"#undef gg_real\n#undef GG_NAME\n#define gg_real {real}\n",
            f"#define GG_NAME(name) name##_{ending}\n",
            _expand(file),
        ]
    return "".join(parts)


def _expand(file: str) -> str:
    """Return the contents of a file in `kernels/`. Each line that includes another file of that
    folder is replaced by that file's contents.
    """
    return _INCLUDE.sub(lambda include: _expand(include[1]), kernel_file(file))

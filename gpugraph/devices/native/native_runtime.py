"""The native runtime: C code that all native kernels share (host_runtime.c and the other `_FILES`),
compiled and loaded once.

The runtime also computes checksums of files (host_crc32c.c). To call a kernel, Python calls a
builtin function without arguments, whose `self` holds the address of the kernel's block. This takes
45 ns, while a call through ctypes takes 200 ns.

    GPUGRAPH_THREADS   the number of threads of kernels; unset: one per usable processor
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpugraph.base.errors import InternalError
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.codegen.compilation import Compilation
from gpugraph.devices.native.self_check import self_check
from gpugraph.formats.crc32c import NativeCrc, provide_native
from gpugraph.formats.tf_record import RecordScanner, provide_scanner
from gpugraph.plan.single_threads import provide_single_thread

_PACKAGE = Path(__file__).resolve().parents[2]


@cache
def kernel_file(name: str) -> str:
    """Return the contents of the file with this name, in any folder of `kernels/`."""
    return Path(_kernel_folders()[name], name).read_text("utf-8")


@cache
def _kernel_folders() -> dict[str, str]:
    """Return the folders of the files in `kernels/` by their names, which are unique. In a wheel
    these files are inside the package.
    """
    for home in (_PACKAGE / "_kernels", _PACKAGE.parent / "kernels"):
        if home.is_dir():
            walk = os.walk(home)
            return {name: folder for folder, _, names in walk for name in names}
    return {}


class KernelBlock(ctypes.Structure):
    """The C structure `gg_block` of host_kernel.h: the arrays and sizes of one bound kernel."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "parallel")),
        *((name, ctypes.c_int64) for name in ("threads", "parts", "rows", "inner")),
        *((name, ctypes.c_int64) for name in ("rows_each", "inner_each", "across", "failed")),
        ("stop", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("limit", "count", "fresh")),
        *((name, ctypes.c_void_p) for name in ("sizes", "at")),
        ("each_nanoseconds", ctypes.c_double),
        ("cuts", ctypes.c_int64),
        ("work", ctypes.c_double),
    )


class _Several(ctypes.Structure):
    """The C structure `gg_several` of host_runtime.c: a sequence of calls."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("count", "failed")),
        ("blocks", ctypes.c_void_p),
    )


class _Lanes(ctypes.Structure):
    """The C structure `gg_lanes` of host_runtime.c: calls that run at the same time."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("count", "threads", "failed")),
        *((name, ctypes.c_void_p) for name in ("blocks", "statuses")),
    )


_PYTHON = (
    "PyTuple_GetItem", "PyLong_AsVoidPtr", "PyLong_FromLong", "PyEval_SaveThread",
    "PyEval_RestoreThread",
)  # fmt: skip

_LONG = 256 << 10
"""The size in bytes from which a checksum releases the GIL, because it takes longer than regaining
the GIL.
"""

_FILES = (
    "host_kernel.h", "host_runtime.c", "host_strided_copy.c", "host_cuts.c", "host_sizes.c",
    "host_iterations.c", "host_crc32c.c", "host_math.h", "host_self_check.c",
)  # fmt: skip

Call = Callable[[], int]


class Runtime:
    """The loaded runtime, which calls kernels and runs their parts on several threads."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        functions = (ctypes.c_void_p * len(_PYTHON))()
        for index, name in enumerate(_PYTHON):
            functions[index] = address_of(getattr(ctypes.pythonapi, name))
        library.gg_python(functions)
        self.parallel = address_of(library.gg_run_parallel)
        self.single_thread = ctypes.PYFUNCTYPE(None)(address_of(library.gg_single_thread))
        self._sequence = address_of(library.gg_sequence)
        self._beside = address_of(library.gg_beside)
        methods = ctypes.addressof(ctypes.c_char.in_dll(library, "gg_calls"))
        size = 4 * ctypes.sizeof(ctypes.c_void_p)  # the size of a PyMethodDef
        self._held, self._released = methods, methods + size
        self._new = ctypes.pythonapi.PyCFunction_NewEx
        self._new.restype = ctypes.py_object
        self._new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]

    def cut(self, name: str, block: ctypes.Structure) -> None:
        """Divide the computation of a block into parts, with the C function `gg_cut_<name>` of
        host_cuts.c.

        The block's field `threads` contains the maximum number of threads before, and the number of
        threads that the kernel uses afterwards.
        """
        getattr(self.library, f"gg_cut_{name}")(ctypes.byref(block))

    def call(self, block: ctypes.Structure, keep: Sequence[Any], release: bool) -> Call:
        """Return a call that runs a block's kernel and returns its status.

        Args:
          keep: objects that live as long as the call.
          release: whether to release the GIL during the call, so that other threads can run Python.
        """
        state = (ctypes.addressof(block), release, block, *keep)
        return self._new(self._released if release else self._held, state, None)

    def sequence(self, calls: Sequence[Call]) -> Call:
        """Return one call that makes these calls in order. The returned call stops at the first
        nonzero status and returns that status.
        """
        parts = [call_of(part) for part in calls]
        blocks = (ctypes.c_void_p * len(parts))(*(part[0] for part in parts))
        several = _Several(self._sequence, len(parts), 0, ctypes.addressof(blocks))
        return self.call(several, (blocks, *calls), any(part[1] for part in parts))

    def beside(self, calls: Sequence[Call], threads: int) -> Call:
        """Return one call that makes these calls at the same time, on at most `threads` threads.
        The returned call ends when all of these calls have ended, and returns the first nonzero
        status.
        """
        parts = [call_of(part) for part in calls]
        blocks = (ctypes.c_void_p * len(parts))(*(part[0] for part in parts))
        statuses = (ctypes.c_int64 * len(parts))()
        addresses = ctypes.addressof(blocks), ctypes.addressof(statuses)
        lanes = _Lanes(self._beside, len(parts), threads, 0, *addresses)
        return self.call(lanes, (blocks, statuses, *calls), any(part[1] for part in parts))

    def failed_at(self, call: Call) -> int:
        """Return the index of the call that ended a `sequence`."""
        return int(call_of(call)[2].failed)

    def failed_lanes(self, call: Call) -> list[int]:
        """Return the indices of the calls of `beside` that have failed."""
        statuses = call_of(call)[4]
        return [index for index, status in enumerate(statuses) if status]

    def threads(self) -> int:
        """Return the number of threads that the runtime has started."""
        return int(self.library.gg_thread_count())

    @property
    def crc32c(self) -> NativeCrc | None:
        """A function that receives an address, a size and an initial value, and returns the CRC-32C
        of these bytes. The property is None if the processor has no instruction for CRC-32C.
        """
        function = getattr(self.library, "gg_crc32c", None)
        if function is None:
            return None
        types = ctypes.c_uint32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint32
        short = ctypes.PYFUNCTYPE(*types)(address_of(function))
        long = ctypes.CFUNCTYPE(*types)(address_of(function))  # CFUNCTYPE releases the GIL
        return lambda address, size, crc: (long if size > _LONG else short)(address, size, crc)

    @property
    def record_ends(self) -> RecordScanner | None:
        """A function that finds the TFRecords in a buffer, or None if `crc32c` is None.

        The function receives the address and size of the buffer, and the address and size of an
        array. It stores the ends of the records in the array, and returns the number of records.
        """
        function = getattr(self.library, "gg_record_ends", None)
        if function is None:
            return None
        types = ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
        scan: RecordScanner = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(address_of(function))
        return scan


def call_of(call: Call) -> tuple[Any, ...]:
    """Return the state of a call: the address of its block, whether it releases the GIL, and the
    objects that it keeps alive.
    """
    return call.__self__  # type: ignore[attr-defined]


def address_of(function: Any) -> int:
    """Return the address of a C function that ctypes has loaded."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def internal_error(message: str) -> InternalError:
    """Return an InternalError without the name of a node."""
    return InternalError.of_no_node(message)


class _Shared:
    """The runtime of this process. It is compiled when it is first needed."""

    def __init__(self) -> None:
        self._compilation: Compilation | None = None
        self._was_refused = False
        self._runtime: Runtime | None = None
        self._unsound = ""  # why the loaded code is not used

    def start(self) -> Compilation:
        """Start to compile the runtime if no earlier call has done so. Return the compilation. If
        an earlier search found no compiler, search again.
        """
        if self._compilation is None or (self._was_refused and not compiler().reason):
            self._was_refused = bool(compiler().reason)
            source = "".join(map(kernel_file, _FILES))
            self._compilation = compiler().start(source, "the runtime of native kernels")
        return self._compilation

    @property
    def reason(self) -> str:
        """The reason why there is no runtime, or "" if the runtime exists or is being compiled.
        Reading this property starts the compilation.
        """
        return self.start().reason or self._unsound

    @property
    def failure(self) -> str:
        """The reason why there is no runtime, or "". Unlike `reason`, this property does not start
        a compilation.
        """
        return "" if self._compilation is None else self._compilation.reason or self._unsound

    @property
    def loaded(self) -> Runtime | None:
        """The runtime if it has been loaded, otherwise None."""
        return self._runtime

    def get(self, wait: bool) -> Runtime | None:
        """Return the runtime, or None if it can't be used. If `wait` is False and the runtime is
        not compiled yet, return None.
        """
        if self._runtime is None and not self._unsound:
            compilation = self.start()
            library = compilation.wait() if wait or compilation.done else None
            if library is not None:
                self._unsound = self_check(library)
                self._runtime = None if self._unsound else Runtime(library)
        return self._runtime


RUNTIME = _Shared()


def _crc32c() -> tuple[NativeCrc | None, bool]:
    """Return the native checksum function or None, and whether a later call may return one."""
    runtime = None if RUNTIME.reason else RUNTIME.get(False)
    return (None if runtime is None else runtime.crc32c), runtime is None and not RUNTIME.reason


def _record_ends() -> RecordScanner | None:
    """Return the native scanner of records, if it is available."""
    runtime = None if RUNTIME.reason else RUNTIME.get(False)
    return None if runtime is None else runtime.record_ends


def _single_thread() -> bool:
    """Limit the kernels that this thread calls to one thread. Return whether the native runtime is
    loaded.
    """
    runtime = RUNTIME.loaded
    if runtime is not None:
        runtime.single_thread()
    return runtime is not None


provide_single_thread(_single_thread)
provide_native(_crc32c)
provide_scanner(_record_ends)

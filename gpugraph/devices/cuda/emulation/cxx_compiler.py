"""The compiler of the emulation. The C++ compiler and cuda_on_host.h convert CUDA sources to host
libraries.

    shim + namespace { source with its includes } + an entry for each kernel
      -> key -> object in the cache, or compiled -> loaded by ctypes

`codegen.c_compiler` caches and loads the libraries. GPUGRAPH_NATIVE has no effect on them, because
an emulated GPU has no other kernels. If a source does not compile, it is stored in a file. The
error contains the path of the file and the log of the compiler.

    GPUGRAPH_CXX   the compiler, a name on the PATH or a path; by default c++
"""

from __future__ import annotations

import ctypes
import mmap
import re
import struct
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config.environment import setting
from gpugraph.devices.codegen.c_compiler import Compiler
from gpugraph.devices.codegen.object_cache import log_once
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry, Span
from gpugraph.devices.cuda.driver.failed_kernel_sources import keep_source
from gpugraph.devices.cuda.driver.kernel_includes import with_includes
from gpugraph.devices.cuda.emulation import guarded_launches as guarded
from gpugraph.devices.cuda.emulation.checked_arithmetic import check_flags
from gpugraph.devices.cuda.emulation.guarded_launches import is_sanitizing

FLAGS = (
    *("-std=c++17", "-O2", "-fno-math-errno", "-fno-trapping-math", "-fwrapv"),
    *("-fno-strict-aliasing", "-ffp-contract=off", "-fsanitize=alignment"),
    *("-fvisibility=hidden", "-fPIC", "-shared", "-w", "-Wl,--as-needed"),
)

MAX_THREADS = 1024
THREADS_OF_ANY = 256
"""The maximum number of threads in a block for which a GPU always has enough registers: a thread
uses at most 255 of the 65536.
"""
STACK_BYTES = 128 << 10
MAX_SHARED_BYTES = 227 << 10
_MESSAGE_BYTES = 1000

_KERNEL = re.compile(
    r"\b__global__\b(?:\s|\bvoid\b|__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\))*(\w+)\s*\("
)
_BOUNDED = re.compile(
    r"\b__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)(?:\s|\bvoid\b)*(\w+)\s*\("
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DYNAMIC = re.compile(
    r"\bextern\s+__shared__\s+((?:__align__|alignas)\s*\([^()]*\)\s*)?([\w:<>\s]+?)\s*"
    r"((?:__align__|alignas)\s*\([^()]*\)\s*)?(\w+)\s*\[\s*\]\s*;"
)
_MACRO_KERNEL = re.compile(r"#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*\b__global__\b|##")
_SYSTEM = re.compile(r"^[ \t]*#[ \t]*include[ \t]+<[^>\n]*>[^\n]*$", re.MULTILINE)


class _CudaCompiler(Compiler):
    """The C++ compiler. It is used regardless of the setting GPUGRAPH_NATIVE."""

    flags: tuple[str, ...] = FLAGS
    language = "c++"
    most_message = 20_000

    @property
    def reason(self) -> str:
        """The reason why there is no compiler, or "" if a compiler was found."""
        if not self.path:
            return f"no C++ compiler was found ('{self.command}' is not on the PATH)"
        return ""

    def preprocessed(self, source: str) -> str:
        """Return the source with its macros expanded. If the preprocessor fails, return the source
        itself.
        """
        flags = ["-E", "-P", "-x", "c++", "-DGPUGRAPH_ON_HOST=1", "-"]
        code, output = self._run([self.path, *flags], _SYSTEM.sub("", source))
        return source if code else output


@cache
def host_compiler() -> _CudaCompiler:
    """Return this process's C++ compiler for CUDA sources, which the value of GPUGRAPH_CXX at the
    first call selects.
    """
    compiler = _CudaCompiler(setting("GPUGRAPH_CXX"))
    compiler.flags = (*FLAGS, *check_flags())
    if is_sanitizing():
        compiler.flags = (*compiler.flags, *guarded.FLAGS)
        compiler.loads_from_memory = False  # the sanitizer's reports read the library's file
    return compiler


def kernel_names(source: str) -> tuple[str, ...]:
    """Return the names of the `__global__` functions in a source, in order. The includes of the
    source must already be inlined.
    """
    plain = _COMMENT.sub(" ", source)
    if _MACRO_KERNEL.search(plain) and not host_compiler().reason:
        plain = host_compiler().preprocessed(plain)
    return tuple(dict.fromkeys(_KERNEL.findall(plain)))


def host_source(source: str) -> tuple[str, tuple[str, ...]]:
    """Return the C++ source for a CUDA source, and the names of its kernels. The C++ source has an
    entry function for each kernel.

    Raises DriverError if an included file does not exist, or if the source has no kernel.
    """
    included: set[str] = set()
    try:
        shim = with_includes('#include "cuda_on_host.h"', "host.cpp", included=included)
        whole = with_includes(source, included=included)
    except KeyError as error:
        raise DriverError(f"the CUDA source includes {error}, which is not in kernels/") from None
    names = kernel_names(whole)
    if not names:
        raise DriverError('the CUDA source has no kernel (extern "C" __global__ void name(...))')
    whole = _DYNAMIC.sub(_dynamic, _SYSTEM.sub("", whole))
    entries = "".join(f"GG_ENTRY({name})\n" for name in names)
    return f"{shim}\nnamespace {{\n{whole}\n}}  // namespace\n{entries}", names


def _dynamic(declaration: re.Match[str]) -> str:
    """Replace `extern __shared__ T name[];` by the declaration of a pointer to the emulated dynamic
    shared memory.
    """
    _, element, _, name = declaration.groups()
    return f"{element}* const {name} = ({element}*)gg_host::dynamic_shared();"


@cache
def _stacks() -> mmap.mmap:
    """Return the memory for the stacks of a block's threads. All launches share this memory,
    because a process executes one launch at a time.
    """
    return mmap.mmap(-1, (MAX_THREADS + 1) * STACK_BYTES, flags=mmap.MAP_PRIVATE)


@cache
def _shared() -> mmap.mmap:
    return mmap.mmap(-1, MAX_SHARED_BYTES, flags=mmap.MAP_PRIVATE)


def _address(buffer: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


_ONE_LAUNCH = new_lock()


class HostModule:
    """A CUDA source that was compiled for the host and loaded.

    Args:
      bounded: the kernels with `__launch_bounds__`.

    Attributes:
      kernels: a string for each kernel, by name. The string has one letter for each 64-bit word of
        the kernel's parameters: `p`ointer, `i`nteger, `d`ouble, or `w`ord of a structure.
    """

    def __init__(
        self, name: str, library: ctypes.CDLL, names: Sequence[str], bounded: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.bounded = frozenset(bounded)
        self.kernels: dict[str, str] = {}
        self._library = library
        for kernel in names:
            kinds = getattr(library, f"gg_kinds_{kernel}")
            kinds.restype = ctypes.c_char_p
            self.kernels[kernel] = kinds().decode()

    def check(self, function: str, geometry: Geometry, arguments: Sequence[Any]) -> None:
        """Raise DriverError if CUDA would reject a launch with this geometry and these
        arguments.
        """
        kinds = self.kernels.get(function)
        if kinds is None:
            names = ", ".join(self.kernels)
            raise DriverError(f"{self.name} has no kernel {function} (it has {names})", 500)
        _check_geometry(function, geometry)
        threads = prod(geometry.block)
        if threads > THREADS_OF_ANY and function not in self.bounded:
            raise DriverError(
                f"kernel {function} without __launch_bounds__({threads}): a GPU may not have the "
                f"registers for {threads} threads of it",
                701,
            )
        if len(arguments) != len(kinds):
            raise DriverError(
                f"kernel {function} takes {len(kinds)} arguments, not {len(arguments)}", 1
            )
        for index, (kind, argument) in enumerate(zip(kinds, arguments)):
            python_type = float if kind == "d" else int
            if not isinstance(argument, python_type) or isinstance(argument, bool):
                raise DriverError(
                    f"kernel {function}: argument {index} is {argument!r} "
                    f"({type(argument).__name__}), the parameter's type is {_KINDS[kind]}",
                    1,
                )

    def launch(
        self,
        function: str,
        geometry: Geometry,
        arguments: Sequence[Any],
        backwards: int = False,
        blocks: tuple[int, int] = (0, 0),
        watched: Sequence[Span] = (),
    ) -> None:
        """Execute a kernel and return when the kernel has ended. Raises DriverError if CUDA would
        reject the launch, or if the kernel fails.

        Args:
          backwards: whether the blocks and threads run from the last to the first. A number above 1
            is the seed of a random order of blocks.
          blocks: the first block and the number of blocks to run, so that a few blocks of a huge
            grid can be checked. By default all blocks run.
          watched: the arrays whose accesses are checked for races, if the compiler's flags enable
            this check.
        """
        self.check(function, geometry, arguments)
        words = b"".join(
            struct.pack("=d" if kind == "d" else "=q", _signed(argument, kind))
            for kind, argument in zip(self.kernels[function], arguments)
        )
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        spans = (ctypes.c_int64 * (2 * len(watched) or 1))(
            *(word for span in watched for word in span)
        )
        with _ONE_LAUNCH:
            launch_options = struct.pack(
                "=16q",
                *geometry.grid,
                *geometry.block,
                geometry.shared_bytes,
                int(backwards),
                _address(_stacks()),
                STACK_BYTES,
                _address(_shared()),
                ctypes.addressof(message),
                *blocks,
                ctypes.addressof(spans),
                len(watched),
            )
            status = getattr(self._library, f"gg_launch_{function}")(launch_options, words)
        if status:
            raise DriverError(message.value.decode(errors="replace"), status, fatal=True)


_KINDS = {
    "p": "a pointer",
    "i": "a 64-bit integer",
    "d": "a double",
    "w": "a structure of 64-bit words",
}


def _signed(argument: Any, kind: str) -> Any:
    """Return an integer argument as a signed 64-bit number. If the parameter is unsigned, its value
    may be 2**63 or more.
    """
    return argument - (1 << 64) if kind != "d" and argument >= 1 << 63 else argument


def _check_geometry(function: str, geometry: Geometry) -> None:
    grid, block, shared = geometry
    if min(grid) < 1 or min(block) < 1 or max(grid[1:]) > 65535 or grid[0] > 2**31 - 1:
        raise DriverError(f"kernel {function}: no GPU launches a grid of {grid} of {block}", 9)
    if prod(block) > MAX_THREADS or block[2] > 64:
        raise DriverError(f"kernel {function}: a block of {block} has over 1024 threads", 9)
    if not 0 <= shared <= MAX_SHARED_BYTES:
        raise DriverError(
            f"kernel {function}: {shared} bytes of shared memory, a block has {MAX_SHARED_BYTES}", 1
        )


def load(source: str, name: str) -> HostModule:
    """Compile a CUDA source for the host, load it, and return its module.

    If the source does not compile, raises DriverError with the compiler's log and the path of a
    file that contains the source.

    Args:
      name: a name for messages.
    """
    source, names = host_source(source)
    compilation = host_compiler().start(source, name, waits=True)
    if compilation.library is None:
        path = keep_source(source, name, ".cpp")
        raise DriverError(
            f"{name} does not compile for the host; its source: {path}\n{compilation.reason}"
        )
    if host_compiler().cache.reason:
        log_once(host_compiler().cache.reason)
    return HostModule(name, compilation.library, names, _BOUNDED.findall(_COMMENT.sub(" ", source)))

"""NVRTC, NVIDIA's compiler as a library, which is called through ctypes. NVRTC compiles CUDA
sources to cubins without a driver, a GPU or CuPy.

    source with its includes -> key -> cubin in the cache, or compiled -> stored by its key

If the GPU is newer than NVRTC, the source is compiled for the newest supported architecture of the
GPU's generation. The GPU can run cubins of older architectures of its generation. If NVRTC supports
no architecture of the GPU's generation, the source is compiled to PTX, which the driver compiles
for the GPU.

The library is searched for in NVIDIA's wheels (nvidia-cuda-nvrtc-cu12, nvidia-cuda-nvrtc), then
under CUDA_PATH and CUDA_HOME, then among the system's libraries. An NVRTC of CuPy's major CUDA
version is preferred. The key is a digest of the source,
the architecture, the options and NVRTC's version. Cubins are in $XDG_CACHE_HOME/gpugraph/cuda, in
the format of compiled C (`codegen.object_cache`).
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import glob
import os
import re
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.devices.codegen.object_cache import ObjectCache, cache_folder, key_of, log_once
from gpugraph.devices.cuda.driver.cuda_libraries import LIBRARY_FOLDERS, cuda_roots
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.driver.failed_kernel_sources import keep_source
from gpugraph.devices.cuda.driver.kernel_includes import with_includes

OPTIONS = ("--std=c++17", "--ptxas-options=-v")
"""Options of every compilation: the C++ standard, and a log with the registers that each kernel
uses.
"""

MAX_WAIT_S = 60.0
"""The maximum time in seconds to wait for another process that compiles the same source; after
that, this process compiles it too.
"""

_ARCH = re.compile(r"sm_(\d+)[af]?")
_GENERATION = 10
"""Two compute capabilities (multiplied by 10) belong to one generation if they differ only in the
last digit, like 90 and 93.
"""


class Cubin(NamedTuple):
    """A compiled source that a driver can load (a cubin or PTX), and the log of the compiler."""

    content: bytes
    log: str


class NvrtcSearch(NamedTuple):
    """The result of the search for NVRTC: the library, or None and the reason why there is none."""

    nvrtc: Nvrtc | None
    reason: str


class Nvrtc:
    """A loaded NVRTC library.

    Attributes:
      version: the version, such as (12, 9).
      archs: the compute capabilities that NVRTC supports, multiplied by 10.
    """

    def __init__(self, library: ctypes.CDLL, path: str, folder: Path | None = None) -> None:
        self.path = path
        self._library = library
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        self.version = self._version()
        self.archs = self._archs()
        self.headers = header_folders(path, self.version[0])
        self.cache = ObjectCache(folder or cache_folder().parent / "cuda", ending=".cubin")

    def with_cache(self, folder: Path) -> Nvrtc:
        """Return a new object that has the same library but another folder for the cache of
        cubins.
        """
        return Nvrtc(self._library, self.path, folder)

    def compile(self, source: str, name: str, arch: str, options: Sequence[str] = ()) -> Cubin:
        """Compile a CUDA source to a cubin for an architecture such as `sm_90`, or load it from the
        cache.

        If the source does not compile, raises DriverError with NVRTC's log and the path of a file
        that contains the source.
        """
        try:
            source = with_includes(source)
        except KeyError as error:
            raise DriverError(f"{name} includes {error}, which is not in kernels/") from None
        options = (*OPTIONS, *options)
        target = self.target(arch)
        key = self._key(source, target, options)
        stored = self.cache.load(key)
        if stored is not None:
            return _unpacked(stored)
        with self.cache.locked(key, MAX_WAIT_S):  # one of several processes compiles it
            stored = self.cache.load(key)
            if stored is not None:
                return _unpacked(stored)
            cubin = self._compile(source, name, [f"-arch={target}", *options, *self._includes()])
            self.cache.store(key, _packed(cubin))
        if self.cache.reason:
            log_once(self.cache.reason)
        return cubin

    def target(self, arch: str) -> str:
        """Return the architecture to compile for, so that a GPU of the architecture `arch` can run
        the result.

        If NVRTC supports `arch`, the result is `arch` itself. Raises DriverError if NVRTC supports
        only newer architectures.
        """
        match = _ARCH.fullmatch(arch)
        if match is None or int(match[1]) in self.archs:
            return arch
        number = int(match[1])
        newest = max((known for known in self.archs if known < number), default=None)
        if newest is None:
            raise DriverError(
                f"NVRTC {self.version[0]}.{self.version[1]} ({self.path}) compiles for "
                f"sm_{min(self.archs)} and later, not for {arch}; an older CUDA does"
            )
        is_same_generation = newest // _GENERATION == number // _GENERATION
        return f"sm_{newest}" if is_same_generation else f"compute_{newest}"

    def _key(self, source: str, arch: str, options: Sequence[str]) -> str:
        return key_of(source, arch, tuple(options), self.version, self._includes())

    def _includes(self) -> list[str]:
        return [f"-I{folder}" for folder in self.headers]

    def _compile(self, source: str, name: str, options: Sequence[str]) -> Cubin:
        program = ctypes.c_void_p()
        content = source.encode()
        self._call("nvrtcCreateProgram", ctypes.byref(program), content, b"text.cu", 0, None, None)
        try:
            strings = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            status = self._library.nvrtcCompileProgram(program, len(options), strings)
            log = self._bytes(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            if status:
                path = keep_source(source, name, ".cu")
                raise DriverError(
                    f"{name} does not compile by NVRTC {self.version[0]}.{self.version[1]} "
                    f"({options[0]}): {self._message(status)}; its source: {path}\n{log}"
                )
            kind = "PTX" if options[0].startswith("-arch=compute") else "CUBIN"
            return Cubin(self._bytes(program, kind), log)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        self._call(f"nvrtcGet{what}", program, content)
        return content.raw

    def _version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def _archs(self) -> tuple[int, ...]:
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        archs = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", archs)
        return tuple(archs)

    def _call(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            raise DriverError(f"{function} of {self.path}: {self._message(status)}", status)

    def _message(self, status: int) -> str:
        message = self._library.nvrtcGetErrorString(status)
        return message.decode() if isinstance(message, bytes) else f"status {status}"


def _packed(cubin: Cubin) -> bytes:
    log = cubin.log.encode()
    return struct.pack("<I", len(log)) + log + cubin.content


def _unpacked(stored: bytes) -> Cubin:
    end = 4 + int(struct.unpack_from("<I", stored)[0])
    return Cubin(stored[end:], stored[4:end].decode())


# -- the search for the library


def library_paths() -> Iterator[str]:
    """Yield paths and names where NVRTC may be found, the most likely first."""
    for root in cuda_roots():
        for folder in LIBRARY_FOLDERS:
            pattern = os.path.join(glob.escape(root), folder, "libnvrtc.so*")
            yield from sorted(glob.glob(pattern), key=len)[:1]
    system = ctypes.util.find_library("nvrtc")  # slow: it runs other programs
    if system:
        yield system
    yield "libnvrtc.so"


def header_folders(library: str, major: int) -> tuple[str, ...]:
    """Return a tuple with the folder that contains cuda_fp16.h, or an empty tuple if there is none.
    The folder is near the library, or elsewhere if its headers have the same major CUDA version.
    """
    beside = os.path.dirname(os.path.dirname(library))
    for root in (beside, *cuda_roots()):
        for folder in ("include", os.path.join("targets", "*", "include")):
            for header in glob.glob(os.path.join(glob.escape(root), folder, "cuda_fp16.h")):
                if _headers_major(os.path.dirname(header)) == major:
                    return (os.path.dirname(header),)
    return ()


def _headers_major(folder: str) -> int:
    """Return the major CUDA version of the headers in a folder. The header cuda_runtime_api.h or
    cuda.h defines the version. If the version is unknown, return 0.
    """
    for name in ("cuda_runtime_api.h", "cuda.h"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                for line in file:
                    if line.startswith(("#define CUDART_VERSION", "#define CUDA_VERSION")):
                        return int(line.split()[2]) // 1000
        except (OSError, ValueError, IndexError):
            continue
    return 0


_search_lock = new_lock()


def find_nvrtc(major: int = 0) -> NvrtcSearch:
    """Return this process's NVRTC, or the reason why it is not available. The search for each major
    version runs only once.

    Args:
      major: a major CUDA version, such as 12. An NVRTC of this version is preferred to others,
        because a driver may reject the cubins of a newer CUDA. 0 means the first that is found.
    """
    with _search_lock:
        return _search(major)


@cache
def _search(major: int) -> NvrtcSearch:
    failures, others = [], []
    for path in library_paths():
        try:
            _load_builtins(path)
            nvrtc = Nvrtc(ctypes.CDLL(path), path)
        except (OSError, AttributeError, DriverError) as error:
            failures.append(f"{path}: {error}")
            continue
        if major in (0, nvrtc.version[0]):
            return NvrtcSearch(nvrtc, "")
        others.append(nvrtc)
    if others:
        return NvrtcSearch(others[0], "")
    reason = "no NVRTC was found (pip install nvidia-cuda-nvrtc-cu12, or CUDA_PATH): "
    return NvrtcSearch(None, reason + "; ".join(failures))


def _load_builtins(path: str) -> None:
    """Load libnvrtc-builtins from NVRTC's folder.

    In its first compilation, NVRTC loads this library by name. NVRTC of CUDA 13.0 does not search
    its own folder for the library.
    """
    folder, _ = os.path.split(path)
    if not folder:
        return
    for other in sorted(glob.glob(os.path.join(glob.escape(folder), "libnvrtc-builtins.so*"))):
        with contextlib.suppress(OSError):  # NVRTC may find it elsewhere, or reports the error
            ctypes.CDLL(other)

"""NVRTC by ctypes: CUDA text to cubins, without a driver, a GPU or CuPy.

    text, its includes in place -> key -> cubin in the cache, or compiled -> kept by its key

For a GPU that is newer than NVRTC it compiles for the newest one that it knows of the same
generation, whose cubins run there; for one of another generation to PTX, from which the driver
makes the rest.

The library is looked for in NVIDIA's wheels (nvidia-cuda-nvrtc-cu12, nvidia-cuda-nvrtc), then under
CUDA_PATH and CUDA_HOME, then where the system has libraries. Why there is none is said once. The
key is the digest of the text, the architecture, the options and NVRTC's version; cubins lie in
$XDG_CACHE_HOME/gpugraph/cuda, as compiled C does (`devices.object_cache`).
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import glob
import hashlib
import os
import re
import struct
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gpugraph.devices.codegen.object_cache import ObjectCache, cache_folder
from gpugraph.devices.cuda.driver.cuda_libraries import LIBRARY_FOLDERS, cuda_roots
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.driver.failed_kernel_sources import keep_text
from gpugraph.devices.cuda.driver.kernel_includes import with_includes

OPTIONS = ("--std=c++17", "--ptxas-options=-v")
"""What every text is compiled with: C++17, and each kernel's registers in the log."""


_ARCH = re.compile(r"sm_(\d+)[af]?")
_GENERATION = 10
"""Capabilities of one generation: 90 and 93 have the first digit in common, 100 and 103 two."""


class Cubin(NamedTuple):
    """A compiled text: what a driver loads (a cubin, or PTX), and what the compiler said."""

    content: bytes
    log: str


class Found(NamedTuple):
    """NVRTC, or why there is none."""

    nvrtc: Nvrtc | None
    reason: str


class Nvrtc:
    """A loaded NVRTC. version: (12, 9). archs: (50, ..., 120), what it compiles for."""

    def __init__(self, library: ctypes.CDLL, path: str, folder: Path | None = None) -> None:
        self.path = path
        self._library = library
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        self.version = self._version()
        self.archs = self._archs()
        self.headers = header_folders(path, self.version[0])
        self.cache = ObjectCache(folder or cache_folder().parent / "cuda", ending=".cubin")

    def with_cache(self, folder: Path) -> Nvrtc:
        """The same NVRTC with cubins in another folder."""
        return Nvrtc(self._library, self.path, folder)

    def compile(self, text: str, name: str, arch: str, options: Sequence[str] = ()) -> Cubin:
        """The cubin of a CUDA text for `sm_90`, say.

        DriverError with NVRTC's log and the file that keeps the text.
        """
        try:
            whole = with_includes(text)
        except KeyError as error:
            raise DriverError(f"{name} includes {error}, which is not in kernels/") from None
        every = (*OPTIONS, *options)
        target = self.target(arch)
        key = self._key(whole, target, every)
        stored = self.cache.content(key)
        if stored is not None:
            return _unpacked(stored)
        made = self._compile(whole, name, [f"-arch={target}", *every, *self._includes()])
        with contextlib.suppress(OSError):  # no room for it: it is compiled again next time
            self.cache.store(key, _packed(made))
        return made

    def target(self, arch: str) -> str:
        """What to compile for, so that a GPU of this architecture can run it: the architecture
        itself where NVRTC knows it. DriverError where all that it knows are newer."""
        found = _ARCH.fullmatch(arch)
        if found is None or int(found[1]) in self.archs:
            return arch
        number = int(found[1])
        older = [each for each in self.archs if each < number]
        if not older:
            raise DriverError(
                f"NVRTC {self.version[0]}.{self.version[1]} ({self.path}) compiles for "
                f"sm_{min(self.archs)} and later, not for {arch}: an older CUDA has what does"
            )
        newest = max(older)
        same = newest // _GENERATION == number // _GENERATION
        return f"sm_{newest}" if same else f"compute_{newest}"

    def _key(self, text: str, arch: str, options: Sequence[str]) -> str:
        parts = text, arch, tuple(options), self.version, self._includes()
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]

    def _includes(self) -> list[str]:
        return [f"-I{folder}" for folder in self.headers]

    def _compile(self, text: str, name: str, options: Sequence[str]) -> Cubin:
        program = ctypes.c_void_p()
        source = text.encode()
        self._call("nvrtcCreateProgram", ctypes.byref(program), source, b"text.cu", 0, None, None)
        try:
            given = (ctypes.c_char_p * len(options))(*(each.encode() for each in options))
            status = self._library.nvrtcCompileProgram(program, len(options), given)
            log = self._bytes(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            if status:
                kept = keep_text(text, name, ".cu")
                raise DriverError(
                    f"{name} does not compile by NVRTC {self.version[0]}.{self.version[1]} "
                    f"({options[0]}): {self._said(status)}; its text: {kept}\n{log}"
                )
            made = "PTX" if options[0].startswith("-arch=compute") else "CUBIN"
            return Cubin(self._bytes(program, made), log)
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
        found = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", found)
        return tuple(found)

    def _call(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            raise DriverError(f"{function} of {self.path}: {self._said(status)}", status)

    def _said(self, status: int) -> str:
        said = self._library.nvrtcGetErrorString(status)
        return said.decode() if isinstance(said, bytes) else f"status {status}"


def _packed(cubin: Cubin) -> bytes:
    log = cubin.log.encode()
    return struct.pack("<I", len(log)) + log + cubin.content


def _unpacked(stored: bytes) -> Cubin:
    end = 4 + int(struct.unpack_from("<I", stored)[0])
    return Cubin(stored[end:], stored[4:end].decode())


# -- where it is


def library_paths() -> Iterator[str]:
    """Files and names that may be NVRTC, the likeliest first."""
    for root in cuda_roots():
        for folder in LIBRARY_FOLDERS:
            pattern = os.path.join(glob.escape(root), folder, "libnvrtc.so*")
            yield from sorted(glob.glob(pattern), key=len)[:1]
    system = ctypes.util.find_library("nvrtc")  # asks other programs: only if need be
    if system:
        yield system
    yield "libnvrtc.so"


def header_folders(library: str, major: int) -> tuple[str, ...]:
    """The folder that has cuda_fp16.h: beside the library, else of the same CUDA elsewhere."""
    beside = os.path.dirname(os.path.dirname(library))
    for root in (beside, *cuda_roots()):
        for folder in ("include", os.path.join("targets", "*", "include")):
            for header in glob.glob(os.path.join(glob.escape(root), folder, "cuda_fp16.h")):
                if _headers_major(os.path.dirname(header)) == major:
                    return (os.path.dirname(header),)
    return ()


def _headers_major(folder: str) -> int:
    """Which CUDA the headers are of, by what cuda_runtime_api.h or cuda.h says; 0: not known."""
    for name in ("cuda_runtime_api.h", "cuda.h"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                for line in file:
                    if line.startswith(("#define CUDART_VERSION", "#define CUDA_VERSION")):
                        return int(line.split()[2]) // 1000
        except (OSError, ValueError, IndexError):
            continue
    return 0


_LOOKING = threading.Lock()


def find_nvrtc() -> Found:
    """This process's NVRTC, looked for once; or the reason why there is none."""
    with _LOOKING:
        return _found()


@cache
def _found() -> Found:
    said = []
    for path in library_paths():
        try:
            _load_beside(path)
            return Found(Nvrtc(ctypes.CDLL(path), path), "")
        except (OSError, AttributeError, DriverError) as error:
            said.append(f"{path}: {error}")
    return Found(
        None,
        "no NVRTC was found (pip install nvidia-cuda-nvrtc-cu12, or CUDA_PATH): " + "; ".join(said),
    )


def _load_beside(path: str) -> None:
    """Loads what NVRTC asks the loader for by its bare name at its first compilation: that of CUDA
    13.0 does not look for it in its own folder."""
    folder, _ = os.path.split(path)
    if not folder:
        return
    for other in sorted(glob.glob(os.path.join(glob.escape(folder), "libnvrtc-builtins.so*"))):
        with contextlib.suppress(OSError):  # then it may be found all the same, or NVRTC says so
            ctypes.CDLL(other)

"""The C compiler: the only module that runs it.

    source -> key -> object in the cache, or compiled -> loaded by ctypes

The key is a digest of the source, the flags, the compiler (its path, size and date) and the
processor's features. So if anything that affects an object changes, the object has another name.
Daemon threads compile the sources in the order of the requests. If a thread needs a result, the
thread compiles the source itself, unless another thread is already compiling it. If the compiler is
missing, broken or slow, this module raises no error. The `Compilation` then has no library, and its
`reason` gives the cause.

    GPUGRAPH_NATIVE   0: nothing is compiled or loaded; wait: a run waits for each
                      compilation; 1, or unset: code is compiled in the background
    GPUGRAPH_CC       the compiler, a name on the PATH or a path; unset: cc
    GPUGRAPH_THREADS  the number of threads of native kernels (see `devices.native`)
    XDG_CACHE_HOME    the folder of objects, in gpugraph/native; unset: ~/.cache

The flags are `-O3 -march=native`, and flags that allow vectorization without a change of results:
no errno, no floating point traps, wrapping integers, no contraction. -ffast-math is never used.
Conditions on scalars are tested before a loop, even if its body is long (unswitching).
atan and atanh are always calls of the math library, because gcc's formulas for sin(atan(x)) are
wrong for NaN. docs/native.md specifies the options and the cache completely.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import platform
import queue
import secrets
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.config.environment import processor_count, setting
from gpugraph.devices.codegen.compilation import Compilation, Library
from gpugraph.devices.codegen.compiler_processes import CompilerProcesses
from gpugraph.devices.codegen.compiler_status import CompilerStatus
from gpugraph.devices.codegen.library_bundle import LibraryBundle
from gpugraph.devices.codegen.library_loading import load_library
from gpugraph.devices.codegen.object_cache import ObjectCache, cache_folder, key_of
from gpugraph.devices.codegen.processor_features import processor_features
from gpugraph.devices.codegen.trusted_folders import private_folder
from gpugraph.platform.progress import progress_bar

FLAGS = (
    "-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
    "-fno-strict-aliasing", "-ffp-contract=off", "-fPIC", "-shared", "-pthread", "-w",
    "-fno-builtin-atan", "-fno-builtin-atanf", "-fno-builtin-atanh", "-fno-builtin-atanhf",
    "--param=max-unswitch-insns=1000",
)  # fmt: skip

NATIVE_FLAGS = ("-march=native", "-mcpu=native", "")
"""Flags for all instructions of this processor. The first one that the compiler accepts is used."""

TIME_LIMIT = 300.0
"""The number of seconds after which a running compiler is killed. After that, the compiler is not
called again.
"""

MOST_THREADS = 2
"""The maximum number of threads. With two, a run that needs a source need not wait for all sources
queued before it.
"""

_MOST_BUNDLE_BYTES = 128 << 20

_EXPORTED = {
    "c": '__attribute__((visibility("default")))',
    "c++": 'extern "C" __attribute__((visibility("default")))',
}
"""The specifiers of a symbol that a library exports, by language."""

_VERSION = "gg_compiler_version"
"""The name of the symbol that holds the compiler's version in a library."""

_MESSAGE = 600
"""The maximum number of characters of a compiler's output that `Library.reason` contains."""

_COMPILERS: weakref.WeakSet[Compiler] = weakref.WeakSet()


class _Joined(NamedTuple):
    """A batch of sources, with the compilation of each, and whether the caller waits for it."""

    bundle: LibraryBundle
    started: list[tuple[str, Compilation, bool]]


class Compiler:
    """A C compiler, its cache of libraries, and the threads that run it."""

    flags: tuple[str, ...] = FLAGS
    language = "c"
    loads_from_memory = True
    most_message = _MESSAGE

    def __init__(self, command: str = "cc", folder: Path | None = None) -> None:
        self.command = command
        self.cache = ObjectCache(folder or cache_folder())
        self._bundles = ObjectCache(self.cache.folder, _MOST_BUNDLE_BYTES, ".bundle")
        self._joining = threading.local()  # `now`: the batch that `together` collects
        self.time_limit = TIME_LIMIT
        self._stopped = ""
        self._path: str | None = None
        self._version = ""
        self._native: str | None = None
        self._counts = {"compiled": 0, "loaded": 0, "failed": 0}
        self._failures: list[str] = []
        self._pending: weakref.WeakSet[Compilation] = weakref.WeakSet()
        self._start_anew()
        _COMPILERS.add(self)

    # -- public

    @property
    def reason(self) -> str:
        """The reason why nothing can be compiled, or "" if compilation is possible."""
        if setting("GPUGRAPH_NATIVE") == "0":
            return "GPUGRAPH_NATIVE=0 switches native kernels off"
        if not self.path:
            return f"no C compiler was found ('{self.command}' is not on the PATH)"
        return ""

    @property
    def path(self) -> str:
        """The path of the compiler, or "" if it is not found. The PATH is searched only once."""
        if self._path is None:
            self._path = shutil.which(self.command) or ""
        return self._path

    def start(self, source: str, name: str, waits: bool | None = None) -> Compilation:
        """Begin to compile a source and return its `Compilation`.

        Args:
          name: a name of the source, for messages.
          waits: whether to return only after the compilation has ended. With None, GPUGRAPH_NATIVE
            decides.
        """
        joined: _Joined | None = getattr(self._joining, "now", None)
        bundle = LibraryBundle(self._bundles, self.key) if joined is None else joined.bundle
        bundle.add(source)
        make = partial(self.make, bundle=bundle)
        compilation = Compilation(make, self.serve, source, name)
        self._pending.add(compilation)
        if waits is None:
            waits = bool(self.reason) or setting("GPUGRAPH_NATIVE") == "wait"
        if joined is not None:
            joined.started.append((source, compilation, waits))
        else:
            self._begin(compilation, waits)
        return compilation

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Collect the compilations that this thread starts in the `with` block, and begin them when
        the block ends.

        The compiled libraries become one cache entry. Libraries that are in the cache already are
        loaded at the end of the block, so that even the first run of a plan uses them.
        """
        joined = self._joining.now = _Joined(LibraryBundle(self._bundles, self.key), [])
        try:
            yield
        finally:
            self._joining.now = None
            joined.bundle.seal()
            try:
                for source, compilation, _ in joined.started:
                    compilation.take(self._found(source, joined.bundle))
            finally:
                self._begin_all(joined.started)

    def _begin_all(self, started: Sequence[tuple[str, Compilation, bool]]) -> None:
        """Begin several compilations, with a progress bar if the caller waits for them."""
        awaited = sum(waits and not compilation.is_over for _, compilation, waits in started)
        with progress_bar(awaited, "compiling native code", "file") as advance:
            for _, compilation, waits in started:
                is_awaited = waits and not compilation.is_over
                self._begin(compilation, waits)
                advance(is_awaited)

    def _begin(self, compilation: Compilation, waits: bool) -> None:
        if waits:
            compilation.wait()
        elif not compilation.is_over:
            self._put(compilation)

    def status(self) -> CompilerStatus:
        """Return the paths, counts and failures so far, without running the compiler."""
        with self._lock:
            return CompilerStatus(
                self.path,
                self._version,
                self.reason,
                str(self.cache.folder),
                self.cache.reason,
                self._counts["compiled"],
                self._counts["loaded"],
                self._counts["failed"],
                tuple(self._failures),
                sum(not compilation.is_over for compilation in list(self._pending)),
            )

    # -- the work

    def make(self, source: str, name: str, bundle: LibraryBundle) -> Library:
        """Return the library of a source. If it is not in the cache, compile the source now. If the
        compilation fails, the result contains the reason.
        """
        if self.reason:
            return Library(None, self.reason)
        try:
            result = self._find_or_compile(source, bundle)
        except OSError as error:
            result = Library(None, f"the compiled object can't be kept or loaded: {error}")
        if result.library is None:
            self._failed(f"{name}: {result.reason}")
            bundle.drop()
        return result

    @uninterrupted
    def _found(self, source: str, bundle: LibraryBundle) -> Library:
        """Return the library of a source if it is in the cache. Otherwise return an empty
        `Library`.
        """
        if not self.reason:
            with contextlib.suppress(OSError):  # the compilation reports it
                key = bundle.key(source)
                return Library(self._in_cache(key, bundle), "")
        return Library(None, self.reason)

    def _in_cache(self, key: str, bundle: LibraryBundle) -> ctypes.CDLL | None:
        return self._loaded(key, bundle.find(key), bundle.drop) or self._cached(key, bundle)

    def _find_or_compile(self, source: str, bundle: LibraryBundle) -> Library:
        key, reason = bundle.key(source), ""
        library = self._in_cache(key, bundle)
        if library is None:
            with self.cache.locked(key, self.time_limit):  # one of several processes compiles it
                library = self._cached(key, bundle)
                if library is None:
                    library, reason = self._compiled(key, source, bundle)
        return Library(library, reason)

    def key(self, source: str) -> str:
        """Return the cache's key of a source. Raises OSError if the compiler's file no longer
        exists.
        """
        status = os.stat(self.path)
        compiler = _real_path(self.path), status.st_size, status.st_mtime_ns
        return key_of(source, self.flags, compiler, platform.machine(), processor_features())

    def _cached(self, key: str, bundle: LibraryBundle) -> ctypes.CDLL | None:
        content = self.cache.load(key)
        library = self._loaded(key, content, lambda: self.cache.drop(key))
        if content is not None and library is not None:
            bundle.keep(key, content)
        return library

    def _loaded(
        self, key: str, content: bytes | None, drop: Callable[[], None]
    ) -> ctypes.CDLL | None:
        """Load the library whose bytes are `content`, and return it. If the content is not the
        library of `key`, call `drop` and return None.
        """
        if content is None:
            return None
        try:
            library = load_library(content, self.loads_from_memory)
        except OSError:  # compiled on another system
            library = None
        if library is None or not hasattr(library, _mark(key)):
            drop()
            return None
        self._count("loaded")
        return library

    def _compiled(
        self, key: str, source: str, bundle: LibraryBundle
    ) -> tuple[ctypes.CDLL | None, str]:
        exported = _EXPORTED[self.language]
        mark = f"{exported} char {_mark(key)} = 1;\n{exported} char {_VERSION}[] = __VERSION__;\n"
        content, reason = self._compile(f"{source}\n{mark}")
        if reason:
            return None, reason
        library = load_library(content, self.loads_from_memory)
        if not hasattr(library, _mark(key)):
            return None, f"{self.path} makes a library of another source"
        version = ctypes.addressof(ctypes.c_char.in_dll(library, _VERSION))
        self._version = ctypes.string_at(version).decode(errors="replace")
        self.cache.store(key, content)
        bundle.keep(key, content)
        self._count("compiled")
        return library, ""

    def _compile(self, source: str) -> tuple[bytes, str]:
        """Compile a source. Return the library's bytes and "", or empty bytes and the reason."""
        if self._native is not None:
            return self._object([*self.flags, *self._native.split()], source)
        outcome = b"", ""
        for flag in NATIVE_FLAGS:  # until the compiler accepts one
            outcome = self._object([*self.flags, *flag.split()], source)
            if outcome[0]:
                self._native = flag
                break
        return outcome

    def _object(self, flags: list[str], source: str) -> tuple[bytes, str]:
        folder = private_folder() / secrets.token_hex(8)
        out = folder / "out.so"
        try:
            folder.mkdir(0o700)
            command = [self.path, *flags, "-x", self.language, "-", "-o", str(out), "-lm"]
            code, message = self._run(command, source, TMPDIR=str(folder))
            if code != 0:
                words = message.strip()[: self.most_message] or "it printed nothing"
                return b"", f"{self.path} failed ({code}): {words}"
            return out.read_bytes(), ""
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, command: list[str], source: str, **variables: str) -> tuple[int, str]:
        """Run the compiler and return its exit status and output. Once a compiler was stopped
        because of a limit, no compiler is run again.
        """
        if not self._stopped:
            outcome = self._processes.run(
                command,
                source,
                self.time_limit,
                {"LC_ALL": "C", **variables},
                is_nice=threading.current_thread() in self._threads,
            )
            if not outcome.stopped:
                return outcome.status, outcome.output
            self._stopped = f"{outcome.stopped}; it is not called again"
        return 124, self._stopped

    def _count(self, kind: str) -> None:
        with self._lock:
            self._counts[kind] += 1

    def _failed(self, message: str) -> None:
        with self._lock:
            self._counts["failed"] += 1
            self._failures = [*self._failures, message][-8:]

    # -- the thread

    def _start_anew(self) -> None:
        """Reset the queue, the threads and the child processes, when the object is created or the
        process has forked.
        """
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Compilation | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._processes = CompilerProcesses()

    def after_fork(self) -> None:
        """Reset the compiler in a forked child. The sources that were not compiled yet are compiled
        when they are first needed.
        """
        self._start_anew()
        for compilation in list(self._pending):
            compilation.forget_others()

    def serve(self, compilation: Compilation) -> None:
        """Queue a compilation again if no thread is left to run it, as after a fork."""
        if not self._threads:
            self._put(compilation)

    def _put(self, compilation: Compilation) -> None:
        with self._lock:
            if len(self._threads) < min(MOST_THREADS, processor_count()):
                thread = threading.Thread(target=self._serve, name="gpugraph-cc", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no thread is available
                    if not self._threads:  # the waiting thread compiles it
                        return
                else:
                    self._threads.append(thread)
        self._queue.put(compilation)

    def _serve(self) -> None:
        waiting = self._queue
        while (compilation := waiting.get()) is not None:
            compilation.wait()
            del compilation  # else it would live until the next one

    def close(self) -> None:
        """Stop all running compilations and all threads, and never compile anything in the
        background again.
        """
        for _ in self._threads:
            self._queue.put(None)
        self._processes.close()


@cache
def _real_path(path: str) -> str:
    return os.path.realpath(path)


def _mark(key: str) -> str:
    """Return the name of the symbol that shows that a library was compiled for this key."""
    return f"gg_library_{key}"


@cache
def compiler() -> Compiler:
    """Return this process's compiler, which the value of GPUGRAPH_CC at the first call selects."""
    return Compiler(setting("GPUGRAPH_CC"))


def _after_fork() -> None:
    for running in list(_COMPILERS):
        running.after_fork()


def _close() -> None:
    for running in list(_COMPILERS):
        running.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_close)

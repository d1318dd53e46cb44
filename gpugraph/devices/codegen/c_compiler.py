"""The C compiler: the one place where it is called.

    source -> key -> object in the cache, or compiled -> loaded by ctypes

The key is the digest of the source, the flags, the compiler (its file, size and date) and the
processor's features, so whatever could change the object changes its name. One daemon thread
compiles in order; a thread that waits for a result compiles it itself. Nothing here raises for a
compiler that is missing, broken or slow: a `Compilation` then has no library, and a reason.

    GPUGRAPH_NATIVE   0: no compiler is called and no object loaded; wait: each compilation is
                      waited for; anything else, or unset: in the background
    GPUGRAPH_CC       the compiler, a name on the PATH or a path; unset: cc
    GPUGRAPH_THREADS  how many threads native kernels use (see `devices.native`)
    XDG_CACHE_HOME    where objects are kept, in gpugraph/native; unset: ~/.cache

Flags: `-O3 -march=native`, and what lets loops be vectorised without changing any result: no
errno, no floating point traps, integers that wrap, arrays that may overlap. Never -ffast-math,
whose start-up code turns denormals off for the whole process. `-ffp-contract=off`: a product and a
sum are two roundings, as in NumPy, so that + - * / and sqrt give its very bits.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import hashlib
import os
import platform
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpugraph.config.environment import setting
from gpugraph.devices.codegen.object_cache import ObjectCache, cache_folder

FLAGS = (
    "-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
    "-fno-strict-aliasing", "-ffp-contract=off", "-fPIC", "-shared", "-pthread", "-w",
)  # fmt: skip

NATIVE_FLAGS = ("-march=native", "-mcpu=native", "")
"""Flags that let a compiler use all that this processor has: the first it accepts is used."""

TIME_LIMIT = 60.0
"""Seconds after which a compiler is stopped."""

_NICE = 10
"""The niceness of a compiler in the background."""

_MESSAGE = 600
"""Characters of a compiler's message that a reason repeats."""


class CompilerStatus(NamedTuple):
    """What is known of the compiler.

    reason: why nothing is compiled; empty where all is well so far.
    version: the first line of `cc --version`; empty while it was not needed.
    folder: where objects are kept. cache_reason: why new ones are not kept there.
    compiled, loaded, failed: how many sources were compiled, found in the cache, refused.
    failures: messages of the last ones.
    """

    path: str
    version: str
    reason: str
    folder: str
    cache_reason: str
    compiled: int
    loaded: int
    failed: int
    failures: tuple[str, ...]


class Compilation:
    """A source that is compiled to a library.

    library: what ctypes loaded; None while it is not done, or failed.
    reason: why it failed.
    """

    def __init__(self, owner: Compiler, source: str, name: str) -> None:
        self.name = name
        self.library: ctypes.CDLL | None = None
        self.reason = ""
        self._owner = owner
        self._source = source
        self._is_done = False
        self._lock = threading.Lock()

    @property
    def done(self) -> bool:
        """Whether it is over; a thread works on it if not."""
        if not self._is_done:
            self._owner.serve(self)
        return self._is_done

    def wait(self, timeout: float = -1) -> ctypes.CDLL | None:
        """The library, compiled by this thread if no other one does; None with a reason.

        None without one when others took longer than `timeout` seconds.
        """
        if not self._is_done and self._lock.acquire(timeout=timeout):
            try:
                if not self._is_done:
                    self._make()
            finally:
                self._lock.release()
        return self.library

    def _make(self) -> None:
        try:
            self.library, self.reason = self._owner.make(self._source, self.name)
        except Exception as error:  # whatever it was: NumPy is always there
            self.reason = f"{type(error).__name__}: {error}"
        self._source = ""
        self._is_done = True

    def forget_others(self) -> None:
        """In a forked process: no other thread works on it."""
        self._lock = threading.Lock()


class Compiler:
    """A C compiler, its cache, and the thread that feeds it."""

    flags: tuple[str, ...] = FLAGS
    language = "c"
    most_message = _MESSAGE

    def __init__(self, command: str = "cc", folder: Path | None = None) -> None:
        self.command = command
        self.cache = ObjectCache(folder or cache_folder())
        self.time_limit = TIME_LIMIT
        self._lock = threading.Lock()
        self._path: str | None = None
        self._version = ""
        self._native: str | None = None
        self._counts = {"compiled": 0, "loaded": 0, "failed": 0}
        self._failures: list[str] = []
        self._pending: weakref.WeakSet[Compilation] = weakref.WeakSet()
        self._start_anew()

    # -- public

    @property
    def reason(self) -> str:
        """Why nothing can be compiled; empty where something can."""
        if setting("GPUGRAPH_NATIVE") == "0":
            return "GPUGRAPH_NATIVE=0 switches native kernels off"
        if not self.path:
            return f"no C compiler was found ('{self.command}' is not on the PATH)"
        return ""

    @property
    def path(self) -> str:
        """The compiler's file; looked for once."""
        if self._path is None:
            self._path = shutil.which(self.command) or ""
        return self._path

    def start(self, source: str, name: str) -> Compilation:
        """Begins to compile a C source; `name` is for messages."""
        compilation = Compilation(self, source, name)
        if self.reason or setting("GPUGRAPH_NATIVE") == "wait":
            compilation.wait()
        else:
            self._pending.add(compilation)
            self._put(compilation)
        return compilation

    def status(self) -> CompilerStatus:
        """What is known now; calls no compiler."""
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
            )

    # -- the work

    def make(self, source: str, name: str) -> tuple[ctypes.CDLL | None, str]:
        """The library of a source, from the cache or compiled; else None and why."""
        if self.reason:
            return None, self.reason
        key = self._key(source)
        path = self.cache.find(key)
        if path is not None:
            try:
                cached = ctypes.CDLL(str(path))
            except OSError:  # of another system, or gone meanwhile
                self.cache.drop(path)
            else:
                self._count("loaded")
                return cached, ""
        library = None
        try:
            content, reason = self._compile(source)
            library = None if reason else self._stored(key, content)
        except OSError as error:
            reason = f"the compiled object can't be kept or loaded: {error}"
        if library is None:
            self._failed(f"{name}: {reason}")
        else:
            self._count("compiled")
        return library, reason

    def _stored(self, key: str, content: bytes) -> ctypes.CDLL:
        try:
            return ctypes.CDLL(str(self.cache.store(key, content)))
        except OSError:  # a folder, perhaps, from which nothing may be run
            return ctypes.CDLL(str(self.cache.store(key, content, private=True)))

    def _key(self, source: str) -> str:
        status = os.stat(self.path)
        compiler = os.path.realpath(self.path), status.st_size, status.st_mtime_ns
        parts = source, self.flags, compiler, platform.machine(), _processor()
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]

    def _compile(self, source: str) -> tuple[bytes, str]:
        """The object's bytes; or none, and why."""
        if not self._version:
            _, output = self._run([self.path, "--version"], "")
            self._version = output.strip().partition("\n")[0]
        if self._native is None:
            self._native = self._choose_native()
        return self._object([*self.flags, *self._native.split()], source)

    def _choose_native(self) -> str:
        """The first of `NATIVE_FLAGS` that the compiler accepts."""
        for flag in NATIVE_FLAGS:
            content, _ = self._object([*self.flags, *flag.split()], "int gg_probe;\n")
            if content:
                return flag
        return ""

    def _object(self, flags: list[str], source: str) -> tuple[bytes, str]:
        out = Path(tempfile.mkdtemp(dir=self.cache.private()), "out.so")  # gone at exit at last
        try:
            command = [self.path, *flags, "-x", self.language, "-", "-o", str(out), "-lm"]
            code, message = self._run(command, source)
            if code != 0:
                return b"", f"{self.path} failed ({code}): {message.strip()[: self.most_message]}"
            return out.read_bytes(), ""
        finally:
            shutil.rmtree(out.parent, ignore_errors=True)

    def _run(self, command: list[str], source: str) -> tuple[int, str]:
        """Exit status and output; a compiler that hangs is stopped, with all it started."""
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},
            )
        except OSError as error:
            return 127, f"it can't be run: {error.strerror or error}"
        if threading.current_thread() is self._thread:
            with contextlib.suppress(OSError):  # what the program does meanwhile goes first
                os.setpriority(os.PRIO_PGRP, child.pid, _NICE)
        with child, self._stopped_at_exit(child):
            try:
                output = child.communicate(source.encode(), timeout=self.time_limit)[0]
            except subprocess.TimeoutExpired:
                _stop(child)
                return 124, f"it took longer than {self.time_limit:g} s and was stopped"
            except BaseException:
                _stop(child)
                raise
        return child.returncode, output.decode(errors="replace")

    @contextlib.contextmanager
    def _stopped_at_exit(self, child: subprocess.Popen[bytes]) -> Iterator[None]:
        with self._lock:
            self._children.add(child)
        try:
            yield
        finally:
            with self._lock:
                self._children.discard(child)

    def _count(self, kind: str) -> None:
        with self._lock:
            self._counts[kind] += 1

    def _failed(self, message: str) -> None:
        with self._lock:
            self._counts["failed"] += 1
            self._failures = [*self._failures, message][-8:]

    # -- the thread

    def _start_anew(self) -> None:
        """No thread, no children: at first, and in a forked process."""
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Compilation | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._children: set[subprocess.Popen[bytes]] = set()

    def after_fork(self) -> None:
        """What the parent's thread was to compile is compiled when it is asked for."""
        self._start_anew()
        for compilation in list(self._pending):
            compilation.forget_others()

    def serve(self, compilation: Compilation) -> None:
        """Queues a compilation again, if a fork has lost the queue."""
        if self._thread is None:
            self._put(compilation)

    def _put(self, compilation: Compilation) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name="gpugraph-cc", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no thread to be had: a thread that waits compiles it
                    return
                self._thread = thread
        self._queue.put(compilation)

    def _serve(self) -> None:
        waiting = self._queue
        while (compilation := waiting.get()) is not None:
            compilation.wait()
            del compilation  # or the last one would live on

    def close(self) -> None:
        """Stops what runs; nothing more is compiled in the background."""
        self._queue.put(None)
        with self._lock:
            children = list(self._children)
        for child in children:
            _stop(child)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Ends a compiler and the programs it started, which are in a session of their own."""
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)


def _processor() -> str:
    """The features of this processor, as text."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = file.read(1 << 14).partition("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    wanted = ("vendor_id", "cpu family", "model", "flags", "features", "cpu part")
    return "\n".join(
        line for line in lines if line.partition(":")[0].strip().lower().startswith(wanted)
    )


_ALL: list[Compiler] = []


def compiler() -> Compiler:
    """This process's compiler, by the environment as it is at the first call."""
    if not _ALL:
        _ALL.append(Compiler(setting("GPUGRAPH_CC")))
        atexit.register(_ALL[0].close)
    return _ALL[0]


def _after_fork() -> None:
    for running in _ALL:
        running.after_fork()


os.register_at_fork(after_in_child=_after_fork)

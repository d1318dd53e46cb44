"""Processes of compilers. Each has its own process session, and limits on its time and output.

A compiler that exceeds a limit is killed together with all its children. Children that outlive the
compiler and keep its output pipe open are killed as well, so that nothing waits for them.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_OUTPUT = 16 << 20
"""A compiler that writes more than this number of bytes is killed."""

_POLL = 0.05
"""The number of seconds between two checks whether a silent compiler has ended."""

_NICE = 10
"""The niceness of compilers that background threads run."""


class Outcome(NamedTuple):
    """The result of a compiler process: its exit status, its output, and the reason if it was
    killed. Otherwise the reason is "".
    """

    status: int
    output: str
    stopped: str = ""


class CompilerProcesses:
    """The processes of one `Compiler` that are running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def run(
        self,
        command: Sequence[str],
        source: str,
        most_seconds: float,
        variables: Mapping[str, str],
        is_nice: bool,
    ) -> Outcome:
        """Run a command and return its outcome.

        Args:
          source: the text for the standard input of the command.
          most_seconds: the time limit in seconds.
          variables: environment variables in addition to those of this process.
          is_nice: whether the command runs with a lower priority.
        """
        with tempfile.TemporaryFile() as file:
            file.write(source.encode())
            file.seek(0)
            try:
                with self._lock:
                    if self._is_closed:
                        return Outcome(127, "the program ends")
                    child = subprocess.Popen(
                        command,
                        stdin=file,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                        env={**os.environ, **variables},
                    )
                    self._running.add(child)
            except OSError as error:
                return Outcome(127, f"it can't be run: {error.strerror or error}")
        if is_nice:
            with contextlib.suppress(OSError):  # the program's other work has priority
                os.setpriority(os.PRIO_PGRP, child.pid, _NICE)
        with child:
            try:
                output, stopped = _output(child, most_seconds)
            except BaseException:
                _stop(child)
                raise
            finally:
                with self._lock:
                    self._running.discard(child)
        return Outcome(child.returncode, output.decode(errors="replace"), stopped)

    def close(self) -> None:
        """Kill the running compilers. Later calls of `run` start no compiler."""
        with self._lock:
            self._is_closed = True
            children = list(self._running)
        for child in children:
            _stop(child)


def _output(child: subprocess.Popen[bytes], most_seconds: float) -> tuple[bytes, str]:
    """Return the complete output of a compiler, and "". If the compiler was killed, return no
    output, and the reason.
    """
    deadline = time.monotonic() + most_seconds
    output = bytearray()
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while len(output) <= MOST_OUTPUT and (left := deadline - time.monotonic()) > 0:
            has_ended = child.poll() is not None
            if selector.select(0 if has_ended else min(left, _POLL)):
                part = os.read(child.stdout.fileno(), 1 << 16)
                output += part
                if not part and _wait_for_end(child, deadline):
                    return bytes(output), ""
            elif has_ended:  # another process keeps the output open
                _stop(child)
                return bytes(output), ""
    _stop(child)
    if len(output) > MOST_OUTPUT:
        return b"", f"it wrote more than {MOST_OUTPUT >> 20} MiB and was stopped"
    return b"", f"it took longer than {most_seconds:g} s and was stopped"


def _wait_for_end(child: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait until the process ends or the deadline passes. Return whether the process has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(max(deadline - time.monotonic(), 0))
    return child.returncode is not None


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Kill a compiler and all processes that it has started. They form one process session."""
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)

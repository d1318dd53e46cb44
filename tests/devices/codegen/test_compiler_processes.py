"""Compilers that hang, write without end, or leave processes behind; the state after an
interrupt.
"""

from __future__ import annotations

import os
import resource
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from gpugraph.devices.codegen import compiler_processes
from gpugraph.devices.codegen.c_compiler import Compiler, compiler
from gpugraph.devices.codegen.compiler_processes import CompilerProcesses, Outcome
from gpugraph.devices.codegen.trusted_folders import private_folder

ANSWER = "int answer(void) { return 42; }\n"


@pytest.fixture(autouse=True)
def _native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)


def script(folder: Path, text: str) -> str:
    path = folder / "my-cc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def run(tmp_path: Path, text: str, most_seconds: float = 20) -> Outcome:
    command = [script(tmp_path, text)]
    return CompilerProcesses().run(command, ANSWER, most_seconds, {"NAME": "it"}, is_nice=False)


def test_source_output_status_and_environment(tmp_path: Path) -> None:
    outcome = run(tmp_path, "cat; echo to $NAME >&2; exit 3")
    assert outcome == Outcome(3, f"{ANSWER}to it\n")


def test_a_program_that_can_t_be_run_has_a_reason() -> None:
    outcome = CompilerProcesses().run(["/nowhere/cc"], "", 1, {}, is_nice=True)
    assert outcome.status == 127 and "No such file" in outcome.output


def test_output_without_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_processes, "MOST_OUTPUT", 1 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = run(tmp_path, "exec cat /dev/zero")
    assert outcome.stopped == "it wrote more than 1 MiB and was stopped"
    assert outcome.status == -signal.SIGKILL
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


@pytest.mark.parametrize("end", ["exit 5", "exec >&- 2>&-; sleep 0.2; exit 5"])
def test_a_child_that_keeps_the_output_is_not_waited_for(tmp_path: Path, end: str) -> None:
    began = time.monotonic()
    outcome = run(tmp_path, f"sleep 60 & echo $! > {tmp_path}/child; echo done; {end}")
    assert outcome == Outcome(5, "done\n")
    assert time.monotonic() - began < 10
    child = int((tmp_path / "child").read_text())
    while is_running(child):
        assert time.monotonic() - began < 20, "it still runs"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("text", ["sleep 60", "exec >&- 2>&-; sleep 60", "trap '' TERM; sleep 60"])
def test_one_that_hangs_is_stopped(tmp_path: Path, text: str) -> None:
    began = time.monotonic()
    outcome = run(tmp_path, text, 0.3)
    assert outcome.stopped == "it took longer than 0.3 s and was stopped"
    assert time.monotonic() - began < 10


def test_a_compiler_that_hung_is_not_called_again(tmp_path: Path) -> None:
    path = script(tmp_path, f"echo $$ >> {tmp_path}/calls; sleep 60")
    cc = Compiler(path, tmp_path / "cache")
    cc.time_limit = 0.3
    compilations = [cc.start(f"int f{index};", "f", waits=True) for index in range(4)]
    assert len((tmp_path / "calls").read_text().split()) == 1
    reasons = {compilation.reason for compilation in compilations}
    assert len(reasons) == 1, "it is said once"
    assert "longer than 0.3 s and was stopped; it is not called again" in reasons.pop()


def test_what_is_in_the_cache_is_loaded_from_a_compiler_that_hung(tmp_path: Path) -> None:
    if compiler().reason:
        pytest.skip(compiler().reason)
    path = script(tmp_path, f'[ ! -e {tmp_path}/hang ] || sleep 60; exec {compiler().path} "$@"')
    assert Compiler(path, tmp_path / "cache").start(ANSWER, "answer", waits=True).library
    (tmp_path / "hang").touch()
    cc = Compiler(path, tmp_path / "cache")
    cc.time_limit = 0.3
    assert cc.start("int other;", "other", waits=True).library is None
    library = cc.start(ANSWER, "answer", waits=True).library
    assert library is not None and library.answer() == 42


def test_interrupted_compilations_leave_nothing(tmp_path: Path) -> None:
    path = script(tmp_path, f'sleep 0.0$(($$ % 4)); exec {compiler().path} "$@"')
    cc = Compiler(path, tmp_path / "cache")
    if cc.reason:
        pytest.skip(cc.reason)
    assert cc.start(ANSWER, "answer", waits=True).library is not None
    before, threads = os.listdir("/proc/self/fd"), threading.active_count()
    sources = [f"int f{index};\n" for index in range(25)]
    interrupts = sum(interrupted(cc, index, source) for index, source in enumerate(sources))
    assert interrupts > 5
    compilations = [cc.start(source, "again", waits=True) for source in sources]
    assert all(compilation.library is not None for compilation in compilations)
    deadline = time.monotonic() + 20
    while threading.active_count() > threads:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert os.listdir("/proc/self/fd") == before
    assert list(private_folder().iterdir()) == []
    assert all(path.suffix == ".so" for path in cc.cache.folder.iterdir())
    assert cc.status().failed == 0


def interrupted(cc: Compiler, index: int, source: str) -> bool:
    """Return whether a compilation was interrupted, at one of many places."""
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.002 * index, signal.pthread_kill, (main, signal.SIGINT))
    try:
        timer.start()
        cc.start(source, "interrupted", waits=True)
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        return True
    return False

"""The C compiler: found, missing, broken, slow; its cache, its thread; forks, other processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gpugraph.devices.codegen import c_compiler as module
from gpugraph.devices.codegen.c_compiler import Compiler, compiler

needs_compiler = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

ROOT = Path(module.__file__).resolve().parents[3]
ANSWER = "int answer(void) { return 42; }\n"


@pytest.fixture(autouse=True)
def _in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)


@pytest.fixture
def cc(tmp_path: Path) -> Compiler:
    return Compiler(compiler().command, tmp_path / "cache")


def script(folder: Path, text: str) -> str:
    """Write a compiler that is a script, and return its path."""
    path = folder / "my-cc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@needs_compiler
def test_a_text_becomes_a_library_in_the_background(cc: Compiler) -> None:
    compilation = cc.start(ANSWER, "answer")
    while not compilation.done:
        time.sleep(0.01)
    assert compilation.library is not None
    assert compilation.library.answer() == 42
    status = cc.status()
    assert (status.compiled, status.loaded, status.failed) == (1, 0, 0)
    assert status.version


@needs_compiler
def test_what_is_not_yet_compiled_is_counted(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waits = f'while [ ! -e {gate} ]; do sleep 0.01; done; exec {compiler().path} "$@"'
    cc = Compiler(script(tmp_path, waits), tmp_path / "cache")
    assert cc.status().unfinished == 0
    parts = [cc.start(f"int part{number};\n", f"part {number}") for number in range(3)]
    assert cc.status().unfinished == 3
    gate.touch()
    for part in parts:
        assert part.wait() is not None
    assert cc.status().unfinished == 0


@needs_compiler
def test_the_same_text_is_compiled_once(cc: Compiler, tmp_path: Path) -> None:
    cc.start(ANSWER, "answer").wait()
    other = Compiler(cc.command, tmp_path / "cache")
    library = other.start(ANSWER, "answer").wait()
    assert library is not None and library.answer() == 42
    assert (other.status().compiled, other.status().loaded) == (0, 1)
    assert other.status().version == ""  # it was not even asked


@needs_compiler
def test_another_processor_has_its_own_objects(
    cc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cc.start(ANSWER, "answer").wait()
    monkeypatch.setattr(module, "processor_features", lambda: "flags: fewer")
    other = Compiler(cc.command, tmp_path / "cache")
    other.start(ANSWER, "answer").wait()
    assert (other.status().compiled, other.status().loaded) == (1, 0)


@needs_compiler
def test_an_object_that_can_t_be_loaded_is_compiled_again(cc: Compiler) -> None:
    key = cc.key(ANSWER)
    assert cc.cache.store(key, b"of another system")
    library = cc.start(ANSWER, "answer").wait()
    assert library is not None and library.answer() == 42
    assert cc.status().compiled == 1
    assert len(cc.cache.load(key) or b"") > 1000


@needs_compiler
def test_a_refused_text_says_what_the_compiler_said(cc: Compiler) -> None:
    compilation = cc.start("int answer(void) { return unknown; }", "nonsense")
    assert compilation.wait() is None
    assert "unknown" in compilation.reason
    assert cc.status().failures[0].startswith("nonsense: ")
    assert cc.start(ANSWER, "answer").wait() is not None


def test_no_compiler_is_a_reason(tmp_path: Path) -> None:
    cc = Compiler("there-is-no-such-compiler", tmp_path)
    compilation = cc.start(ANSWER, "answer")
    assert compilation.done and compilation.library is None
    assert compilation.reason == cc.status().reason
    assert "no C compiler was found ('there-is-no-such-compiler'" in compilation.reason


def test_it_can_be_switched_off(cc: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    compilation = cc.start(ANSWER, "answer")
    assert compilation.done and compilation.library is None
    assert compilation.reason == "GPUGRAPH_NATIVE=0 switches native kernels off"


@needs_compiler
def test_who_asks_for_it_waits(cc: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    assert cc.start(ANSWER, "answer").library is not None
    assert not cc._threads


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo out of order >&2; exit 3", "failed (3): out of order"),
        ("exit 0", "can't be kept or loaded"),
        ('while [ "$1" != -o ]; do shift; done; echo rubbish > "$2"', "can't be kept or loaded"),
        ("kill -SEGV $$", "failed (-11)"),
    ],
)
def test_a_broken_compiler_is_a_reason(tmp_path: Path, text: str, message: str) -> None:
    compilation = Compiler(script(tmp_path, text), tmp_path / "cache").start(ANSWER, "answer")
    assert compilation.wait() is None
    assert message in compilation.reason


@needs_compiler
def test_a_compiler_that_makes_another_library_is_a_reason(tmp_path: Path) -> None:
    text = f'while [ "$1" != -o ]; do shift; done; echo "int other;" | {compiler().path}'
    cc = Compiler(script(tmp_path, f'{text} -shared -x c - -o "$2"'), tmp_path / "cache")
    compilation = cc.start(ANSWER, "answer")
    assert compilation.wait() is None
    assert "makes a library of another source" in compilation.reason
    assert list(cc.cache.folder.iterdir()) == []


@needs_compiler
def test_a_library_of_another_source_is_compiled_again(cc: Compiler) -> None:
    other = "int other(void) { return 1; }\n"
    assert cc.start(other, "other", waits=True).library is not None
    content = cc.cache.load(cc.key(other))
    assert content is not None and cc.cache.store(cc.key(ANSWER), content)
    library = cc.start(ANSWER, "answer", waits=True).library
    assert library is not None and library.answer() == 42


def test_a_compiler_that_hangs_is_stopped_with_its_children(tmp_path: Path) -> None:
    cc = Compiler(script(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; wait"), tmp_path / "c")
    cc.time_limit = 0.5
    compilation = cc.start(ANSWER, "answer")
    assert compilation.wait() is None
    assert "took longer than 0.5 s" in compilation.reason
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while is_running(child):
        assert time.monotonic() < deadline, "the compiler's child still runs"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@needs_compiler
def test_many_threads_may_wait_for_one_compilation(cc: Compiler) -> None:
    compilation = cc.start(ANSWER, "answer")
    libraries = []
    threads = [
        threading.Thread(target=lambda: libraries.append(compilation.wait())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(libraries) == 8 and None not in libraries
    assert cc.status().compiled == 1


@needs_compiler
def test_waiting_may_have_an_end(tmp_path: Path) -> None:
    slow = script(tmp_path, f'sleep 2; exec {compiler().path} "$@"')
    cc = Compiler(slow, tmp_path / "cache")
    compilation = cc.start(ANSWER, "answer")
    deadline = time.monotonic() + 10
    while compilation._lock.acquire(blocking=False):  # until the thread is at it
        compilation._lock.release()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert compilation.wait(timeout=0.05) is None
    assert not compilation.done and compilation.reason == ""
    cc.close()


PROGRAM = """
import os, sys, time
from gpugraph.devices.codegen.c_compiler import compiler
cc = compiler()
text = {text}
made = cc.start(text, "answer")
{body}
"""

WAITS = "print(made.wait().answer(), cc.status().compiled + cc.status().loaded)"
LEAVES = "print('left')"
FORKS = """
child = os.fork()
if child == 0:
    while not made.done:
        time.sleep(0.01)
    again = cc.start(text + "int more;", "again").wait()
    os._exit(0 if made.library.answer() == again.answer() == 42 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), made.wait().answer())
"""


def run(
    tmp_path: Path, body: str, text: str = repr(ANSWER), **variables: str
) -> subprocess.Popen[str]:
    """Run a separate process; `text` is a Python expression, `more` goes into its environment."""
    program = PROGRAM.format(text=text, body=body)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path),
        "GPUGRAPH_NATIVE": "1",
        **variables,
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(child: subprocess.Popen[str]) -> str:
    out, message = child.communicate(timeout=60)
    assert child.returncode == 0 and message == "", message
    return out.strip()


@needs_compiler
def test_two_processes_at_once(tmp_path: Path) -> None:
    children = [run(tmp_path, WAITS) for _ in range(3)]
    assert [ended(child) for child in children] == ["42 1"] * 3
    assert len(list((tmp_path / "gpugraph" / "native").iterdir())) == 1


AT_ONCE = """
def compile_all():
    sources = [f"int answer(void) {{ return {index}; }}" for index in range(4)]
    libraries = [cc.start(source, "it").wait() for source in sources]
    return [library.answer() for library in libraries] == [0, 1, 2, 3]

made.wait()
children = [os.fork() or os._exit(not compile_all()) for _ in range(6)]
print([os.waitpid(child, 0)[1] for child in children])
"""


@needs_compiler
def test_processes_that_start_at_once_compile_each_source_once(tmp_path: Path) -> None:
    count = f"""source=$(mktemp); cat > $source
! grep -q "return [0-3]" $source || echo >> {tmp_path}/calls
{compiler().path} "$@" < $source"""
    child = run(tmp_path, AT_ONCE, GPUGRAPH_CC=script(tmp_path, count))
    assert ended(child) == "[0, 0, 0, 0, 0, 0]"
    assert (tmp_path / "calls").read_text() == "\n" * 4
    assert len(list((tmp_path / "gpugraph" / "native").iterdir())) == 5


@needs_compiler
def test_a_process_may_end_while_it_compiles(tmp_path: Path) -> None:
    slow = "''.join(f'double f{n}(double x) {{ return x * {n}; }}' for n in range(20000))"
    began = time.monotonic()
    assert ended(run(tmp_path, LEAVES, slow)) == "left"
    assert time.monotonic() - began < 20
    assert not list((tmp_path / "gpugraph" / "native").glob("*.so"))


def test_a_process_that_ends_while_a_compiler_runs_leaves_nothing_behind(tmp_path: Path) -> None:
    slow, begun, rest = tmp_path / "slow", tmp_path / "begun", tmp_path / "rest"
    slow.write_text(f"#!/bin/sh\ntouch {begun}\n[ $1 = --version ] || exec sleep 60\n")
    slow.chmod(0o755)
    rest.mkdir()
    body = f"""
while not (os.path.exists({str(begun)!r}) and list(os.scandir({str(rest)!r}))):
    time.sleep(0.01)
print('left')
"""
    child = run(tmp_path, body, GPUGRAPH_CC=str(slow), TMPDIR=str(rest))
    assert ended(child) == "left"
    assert list(rest.iterdir()) == []


@needs_compiler
def test_a_forked_process_compiles_what_its_parent_began(tmp_path: Path) -> None:
    assert ended(run(tmp_path, FORKS)) == "0 42"

"""Explanations name the code that really runs, with any compiler or none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CC = shutil.which("cc") or ""
MUSL = shutil.which("musl-gcc") or ""
PROGRAM = Path(__file__).with_name("explained_programs.py")

needs_cc = pytest.mark.skipif(not CC, reason="there is no cc")

TO_OUT = 'for word; do test "$last" = -o && out="$word"; last="$word"; done\n'
"""Shell that finds the file that a compiler is to write."""

COMPILERS = {
    "broken": f"{TO_OUT}echo this is no library > $out\n",
    "another": f"{TO_OUT}echo 'int other;' | {CC} -shared -x c - -o $out\n",
    "unsound": f"sed 's/define tanh(x) gg/define tanh(x) 2 * gg/' | {CC} \"$@\"\n",
    "wordy": "echo 'error: out of licences' >&2; echo 'see the manual' >&2; exit 3\n",
}
"""Compilers that give no sound library, as shell scripts."""


@pytest.fixture
def explained(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Explain random programs in a separate process, which begins with an empty cache."""

    def run(native: str, cc: str = CC, programs: int = 4, runs: int = 2, rows: int = 0) -> Any:
        if cc in COMPILERS:
            script = tmp_path / f"{cc}-cc"
            script.write_text(f"#!/bin/sh\n{COMPILERS[cc]}")
            script.chmod(0o755)
            cc = str(script)
        (tmp_path / "cache").mkdir(mode=0o700, exist_ok=True)
        settings = {
            "GPUGRAPH_NATIVE": native,
            "GPUGRAPH_CC": cc,
            "GPUGRAPH_VERIFY": "0",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }
        done = subprocess.run(
            [sys.executable, "-W", "ignore", PROGRAM, *map(str, (programs, runs, rows))],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["wrong"] == []
        assert sum(found["compared"].values()) > 0
        return found

    return run


@needs_cc
def test_of_native_code_that_is_waited_for(explained: Callable[..., Any]) -> None:
    found = explained("wait")
    assert found["compared"]["native"] > 0 and found["compared"]["plain"] > 0
    assert "waiting" not in found["states"]
    assert found["reasons"]["sizes are left open"] > 0
    assert found["reasons"]["the op has none"] > 0


@needs_cc
def test_of_native_code_compiled_in_the_background(explained: Callable[..., Any]) -> None:
    few = explained("1", programs=2)
    assert few["compared"]["waiting"] > 0 and few["compared"]["plain"] > 0
    assert few["reasons"]["until the steps have taken an estimated 10 ms"] > 0
    cold = explained("1", rows=60_000)
    assert cold["compared"]["waiting"] > 0
    explained("wait", rows=60_000)
    warm = explained("1", runs=8, rows=60_000)
    assert warm["compared"]["native"] > 0


def test_of_native_code_that_is_switched_off(explained: Callable[..., Any]) -> None:
    found = explained("0")
    assert list(found["states"]) == ["plain"]
    assert found["reasons"]["GPUGRAPH_NATIVE is 0"] > 0


@pytest.mark.parametrize(
    "cc, reason",
    [
        ("no-such-cc", "no C compiler was found ('no-such-cc' is not on the PATH)"),
        ("/bin/false", "/bin/false failed (1): it printed nothing"),
        ("wordy", "wordy-cc failed (3): error: out of licences"),
        ("broken", "the compiled object can't be kept or loaded: "),
        pytest.param("another", "makes a library of another source", marks=needs_cc),
        pytest.param(
            MUSL,
            "the compiled object can't be kept or loaded: ",
            marks=pytest.mark.skipif(not MUSL, reason="there is no musl-gcc"),
        ),
    ],
)
def test_of_compilers_that_give_no_code(
    cc: str, reason: str, explained: Callable[..., Any]
) -> None:
    found = explained("wait", cc, programs=2)
    assert list(found["states"]) == ["plain"]
    assert any(reason in text for text in found["reasons"])


@pytest.mark.parametrize("cc", ["no-such-cc", "/bin/false"])
def test_of_compilers_that_give_no_code_in_the_background(
    cc: str, explained: Callable[..., Any]
) -> None:
    for runs in (40, 200, 1000):  # until the compiler has failed
        found = explained("1", cc, programs=3, runs=runs, rows=60_000)
        if list(found["states"]) == ["plain"]:
            break
    assert list(found["states"]) == ["plain"]


@needs_cc
@pytest.mark.parametrize("native", ["wait", "1"])
def test_of_a_compiler_that_is_not_sound(native: str, explained: Callable[..., Any]) -> None:
    found = explained(native, "unsound", programs=2, runs=6, rows=60_000)
    assert found["states"].get("native", 0) == 0
    if native == "wait":
        assert found["reasons"]["the C compiler's code computes other numbers than NumPy"] > 0

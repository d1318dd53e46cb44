"""The threads of NumPy's BLAS: the library's report, in a process of one thread and in others."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

import gpugraph.devices.native.blas_threads as module
from gpugraph.devices import blas_threads


def test_a_library_that_is_limited_to_one_thread_says_so() -> None:
    assert blas_threads() >= 1
    limits = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    ended = subprocess.run(
        [sys.executable, "-c", "import gpugraph.devices as d; print(d.blas_threads())"],
        env={**os.environ, **limits},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.stdout == "1\n" or not module.reports_threads(), ended.stderr


def test_a_library_that_says_nothing_takes_all_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise OSError(path)

    module._asked.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    monkeypatch.setattr(module, "processor_count", lambda: 7)
    assert blas_threads() == 7
    assert not module.reports_threads()
    monkeypatch.undo()
    module._asked.cache_clear()

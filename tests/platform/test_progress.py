"""Progress bars: where they appear, and their figures for restores and compilations."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.platform import progress

BARS: list[FakeBar] = []


class FakeBar:
    """Records its arguments and its advance in place of tqdm's bar."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments, self.count = arguments, 0
        BARS.append(self)

    def update(self, count: int) -> None:
        self.count += count

    def __enter__(self) -> FakeBar:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[FakeBar]:
    """Pretend that a notebook runs the test, and that tqdm is installed."""
    module = ModuleType("tqdm.auto")
    vars(module)["tqdm"] = FakeBar
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    BARS.clear()
    return BARS


def test_a_restore_advances_its_bar_by_all_bytes(bars: list[FakeBar], tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=np.zeros([300, 100], np.float32))
        tf.get_variable("b", initializer=np.zeros([100], np.float32))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        tf.train.Saver().restore(session, path)
    (bar,) = [bar for bar in bars if bar.arguments["unit"] == "B"]
    assert bar.count == bar.arguments["total"] == 2 * 4 * 30_100
    assert bar.arguments["delay"] == progress.DELAY_S


def test_nobody_sees_a_bar_in_a_file(bars: list[FakeBar], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel")
    with progress.progress_bar(3, "title", "file") as advance:
        advance(1)
    assert bars == []


def test_without_tqdm_there_is_no_bar(bars: list[FakeBar], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tqdm.auto")
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress.progress_bar(3, "title", "file") as advance:
        advance(1)
    assert bars == []


def test_a_first_run_that_waits_for_the_compiler_has_one(bars: list[FakeBar]) -> None:
    compiler = pytest.importorskip("gpugraph.devices.codegen.c_compiler").compiler()
    if compiler.reason and not compiler.path:
        pytest.skip(compiler.reason)
    options = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        session.run(tf.reduce_sum(tf.tanh(tf.ones([64, 64])) * 1.25))
    files = [bar for bar in bars if bar.arguments["unit"] == "file"]
    assert all(bar.count == bar.arguments["total"] for bar in files)

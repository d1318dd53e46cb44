"""Warnings of native code that is not used, or not kept."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest

import gpugraph as tf
from gpugraph.compile.unit import jit_settings
from gpugraph.devices.codegen.c_compiler import compiler


@pytest.fixture
def unkept(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a compiler, but its code is not kept."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    if compiler().reason:
        pytest.skip(compiler().reason)
    cache = SimpleNamespace(reason="compiled code is not kept in /folder: it is full")
    monkeypatch.setattr(jit_settings, "compiler", lambda: SimpleNamespace(reason="", cache=cache))
    monkeypatch.setattr(jit_settings, "_WARNED", set())


def run_warned() -> list[warnings.WarningMessage]:
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = tf.tanh(tf.random_uniform([4])) + 1.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                session.run(fetches)  # the user's line
    return caught


@pytest.mark.usefixtures("unkept")
def test_a_warning_comes_once_and_names_the_line_of_the_run() -> None:
    [warning] = run_warned()
    assert "not kept in /folder" in str(warning.message)
    with open(warning.filename, encoding="utf-8") as file:
        assert "the user's line" in file.readlines()[warning.lineno - 1]

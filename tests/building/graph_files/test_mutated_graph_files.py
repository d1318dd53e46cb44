"""Mutated graph files are imported or refused, and nothing else happens."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf

_SPEC = importlib.util.spec_from_file_location(
    "graph_file_fuzzer", Path(__file__).with_name("graph_file_fuzzer.py")
)
assert _SPEC is not None and _SPEC.loader is not None
fuzzer: Any = importlib.util.module_from_spec(_SPEC)
sys.modules["graph_file_fuzzer"] = fuzzer
_SPEC.loader.exec_module(fuzzer)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_mutated_file_does_harm(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.logging, "warning", lambda *_: None)
    monkeypatch.setattr(tf.logging, "error", lambda *_: None)
    outcomes, faults = fuzzer.fuzz(150, seed)
    assert not faults, "\n".join(faults)
    assert outcomes["imported"] and outcomes["ValueError"] and outcomes["no message"]

"""A training goes on from its checkpoint after a worker was killed; `ci/killed_workers.py`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "ci" / "killed_workers.py"


def script() -> Any:
    spec = importlib.util.spec_from_file_location("killed_workers", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("mirrored", 1),
        *(pytest.param(kind, 20, marks=pytest.mark.exhaustive) for kind in ("mirrored", "server")),
        pytest.param("servers", 5, marks=pytest.mark.exhaustive),
    ],
)
def test_losses_are_those_without_kills(kind: str, kills: int) -> None:
    pytest.importorskip("grpc")
    assert script().check(kind, kills, seed=kills, steps=0 if kills > 1 else 15) == []

"""Fixtures of tests of kernels."""

from __future__ import annotations

import pytest

from .emulated import Machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine that sets how GPUs are made, and records their launches."""
    return Machine(monkeypatch)

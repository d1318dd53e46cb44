"""Fixtures of tests of kernels."""

from __future__ import annotations

import pytest

from .emulated import Machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Whoever asks for it says how GPUs are made, and sees what they launch."""
    return Machine(monkeypatch)

"""A graph for each test."""

from __future__ import annotations

from ..engine.conftest import graph as graph

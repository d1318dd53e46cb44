"""A graph for each test, and layers that tests are written with."""

from __future__ import annotations

from ..engine.conftest import Affine as Affine, graph as graph, registered as registered

"""Texts about the data pipelines of a session's iterators, for explanations and traces."""

from __future__ import annotations

from typing import Any

from gpugraph.devices.session_resources import Resources


def measured_pipelines(resources: Resources) -> list[str]:
    """Return a text with measurements for each initialized iterator of a session. Iterators that
    were not measured before are measured from now on.
    """
    return [iterator.measure() for iterator in _iterators(resources)]


def _iterators(resources: Resources) -> list[Any]:
    with resources.lock:
        shared = {id(held): held for held in resources.shared.values() if hasattr(held, "measure")}
    return [iterator for iterator in shared.values() if iterator.stage is not None]

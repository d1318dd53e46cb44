"""Fuse: groups of ops that run as one kernel.

It looks at the whole placed graph, since fusing inside one device's partition can close a cycle
through another device. No kernel is fused yet: each op stays a step of its own.
"""

from __future__ import annotations

from gpugraph.compile.unit import Unit

__all__ = ["fuse"]


def fuse(unit: Unit) -> None:
    """Passes everything through."""
    with unit.report("fuse") as say:
        say("nothing fused: each op is a step of its own", ())

"""Fuse: groups of ops that run as one kernel.

It looks at the whole placed graph, since fusing inside one device's partition can close a cycle
through another device. No kernel is fused yet: each op stays a step of its own, and the report
says how many elementwise ops were candidates.
"""

from __future__ import annotations

from gpugraph.compile.unit import Unit
from gpugraph.kernel import Elementwise
from gpugraph.ops.kernels import find_kernel

__all__ = ["fuse"]


def fuse(unit: Unit) -> None:
    """Passes everything through."""
    with unit.report("fuse") as say:
        count = 0
        for node in unit.graph.op_nodes():
            entry = find_kernel(node.type, "GPU", node.attrs)
            count += entry is not None and isinstance(entry.kernel, Elementwise)
        say(f"nothing fused; {count} elementwise ops run as steps of their own", ())

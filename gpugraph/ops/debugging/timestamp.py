"""Timestamp, which returns the time at which a run executes it."""

from __future__ import annotations

import time
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.shape_functions import scalar


def _now(out: Any) -> None:
    out[...] = time.time()


_timestamp = op(
    "Timestamp",
    outputs="ts: double",
    infer=scalar,
    cpu=Call(_now),
    gpu=HostOnly("the time is read on the host"),
    grad=NO_GRADIENT,
    stateful=True,
    doc="The time at which the op runs, in seconds since 1970.",
)


def timestamp(name: str | None = None) -> Tensor:
    """Return the time at which the op runs, in seconds since 1970 (float64)."""
    return _timestamp(name=name)

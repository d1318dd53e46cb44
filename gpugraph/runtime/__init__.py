"""The runtime: runs plans. It knows plans alone, neither graphs nor ops nor how plans are made."""

from __future__ import annotations

from gpugraph.runtime.executor import execute, execute_traced
from gpugraph.runtime.rendezvous import Rendezvous, parse_key
from gpugraph.runtime.step_stats import NodeExecStats, StepStats

__all__ = [
    "NodeExecStats",
    "Rendezvous",
    "StepStats",
    "execute",
    "execute_traced",
    "parse_key",
]

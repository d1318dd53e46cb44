"""The runtime: runs plans. It knows plans alone, neither graphs nor ops nor how plans are made."""

from __future__ import annotations

from gpugraph.runtime.executor import execute as execute, execute_traced as execute_traced
from gpugraph.runtime.rendezvous import Rendezvous as Rendezvous, parse_key as parse_key
from gpugraph.runtime.step_stats import NodeExecStats as NodeExecStats, StepStats as StepStats

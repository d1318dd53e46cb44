"""Rewrite switches: which rewrites of the graph a session's settings turn on.

`OptimizerOptions.opt_level` L1, the default, turns on all rewrites. With L0, only the rewrites that
another setting requests are on: `OptimizerOptions.do_...`, or the value ON in `RewriterConfig`. A
rewrite that is OFF there is off, regardless of other settings; `disable_meta_optimizer` switches
off all of them. Neither these settings nor the environment variables below change results, except
for the last bits of matrix products (see `transposes`).
"""

from __future__ import annotations

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.config import OptimizerOptions, RewriterConfig
from gpugraph.config.environment import is_on

CAPTURE, JOIN = "GPUGRAPH_CAPTURE", "GPUGRAPH_JOIN"
"""Environment variables, 0 or 1: whether steps are captured as CUDA graphs, and whether launches of
adjacent steps are joined.
"""

_OPTIONS = {
    "constant_folding": "do_constant_folding",
    "common_subgraph_elimination": "do_common_subexpression_elimination",
}


def why_off(unit: Unit, rewrite: str) -> str:
    """Return why a rewrite is off. Return an empty string if it is on.

    Args:
      rewrite: the name of its field of `RewriterConfig`.
    """
    graph_options = unit.target.config.graph_options
    options, rewrites = graph_options.optimizer_options, graph_options.rewrite_options
    toggle = getattr(rewrites, rewrite)
    if rewrites.disable_meta_optimizer:
        return "switched off: disable_meta_optimizer"
    if toggle == RewriterConfig.OFF:
        return f"switched off: {rewrite} is OFF"
    is_requested = rewrite in _OPTIONS and getattr(options, _OPTIONS[rewrite])
    is_default = toggle == RewriterConfig.DEFAULT and not is_requested
    if is_default and options.opt_level == OptimizerOptions.L0:
        return "switched off: opt_level is L0"
    return ""


def is_off(switch: str) -> bool:
    """Return whether the environment variable `switch`, CAPTURE or JOIN, is 0. Raises
    InvalidArgumentError if it is neither 0 nor 1.
    """
    return not is_on(switch)

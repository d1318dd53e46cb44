"""Rewrite switches: the settings of a session that enable and disable rewrites of the graph.

`OptimizerOptions.opt_level` L1, the default, enables all rewrites. With L0, a rewrite is enabled
only if another setting requests it: `OptimizerOptions.do_...`, or the value ON in `RewriterConfig`.
A rewrite with the value OFF in `RewriterConfig` is disabled, regardless of other settings.
`disable_meta_optimizer` disables all rewrites. These settings, and the environment variables of
`is_off`, do not change results, except for the last bits of matrix products (see `transposes`).
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
    """Return the reason why a rewrite is disabled, or "" if it is enabled.

    Args:
      rewrite: the name of the rewrite's field in `RewriterConfig`.
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
    """Return whether the environment variable of `switch` (CAPTURE or JOIN) is 0. Raises
    InvalidArgumentError if the variable is neither 0 nor 1.
    """
    return not is_on(switch)

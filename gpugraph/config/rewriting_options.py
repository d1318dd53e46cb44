"""`tf.config.optimizer`: how the graphs of sessions without a config are rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.base.proto_messages import to_bool, to_int
from gpugraph.config.process_settings import (
    UNSWITCHED,
    get_jit as get_jit,
    rewriters,
    set_jit as set_jit,
)

_SWITCHES = (
    *("layout_optimizer", "constant_folding", "shape_optimization", "remapping"),
    *("arithmetic_optimization", "dependency_optimization", "loop_optimization"),
    *("function_optimization", "debug_stripper", "scoped_allocator_optimization"),
    *("pin_to_host_optimization", "implementation_selector", "auto_mixed_precision"),
)


def get_experimental_options() -> dict[str, Any]:
    """Return the options that were set, with `disable_model_pruning` and `disable_meta_optimizer`,
    which are False by default.
    """
    always = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    return {**always, **rewriters}


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Set fields of the RewriterConfig of new sessions without a config; keep the other fields.

    Raises TypeError for a value of another type.

    Args:
      options: True or False for a rewriter such as "constant_folding", for "disable_model_pruning"
        and "disable_meta_optimizer"; a number for "min_graph_nodes". Other names have no effect.
    """
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name in (*_SWITCHES, *UNSWITCHED) and value is not None:
            convert = to_int if name == "min_graph_nodes" else to_bool
            checked[name] = convert(name, value)
    rewriters.update(checked)

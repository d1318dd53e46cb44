"""`tf.config.optimizer`: the rewrites of graphs in sessions without a config."""

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
    """Return the options that were set, and the options `disable_model_pruning` and
    `disable_meta_optimizer`, which are False by default.
    """
    always = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    return {**always, **rewriters}


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Set fields of the RewriterConfig of new sessions without a config. Fields that are not in
    `options` are not changed.

    Raises TypeError if a value has the wrong type.

    Args:
      options: maps names to values. The value is True or False for a rewriter, such as
        "constant_folding", and for "disable_model_pruning" and "disable_meta_optimizer". The value
        is a number for "min_graph_nodes". Any other name has no effect.
    """
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name in (*_SWITCHES, *UNSWITCHED) and value is not None:
            convert = to_int if name == "min_graph_nodes" else to_bool
            checked[name] = convert(name, value)
    rewriters.update(checked)

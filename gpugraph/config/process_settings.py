"""The settings of the whole process that sessions without a config of their own are made by.

`tf.config.threading`, `tf.config.optimizer`, `tf.config.experimental` and `tf.debugging` change
them. As in TensorFlow, a session that is given a ConfigProto follows that alone, and a session
keeps the settings that it was made with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.proto_messages import to_bool, to_int
from gpugraph.config.config_proto import ConfigProto, OptimizerOptions

_numbers: dict[str, int] = {}
"""Fields of the ConfigProto, with what they are set to."""
_jit: list[int] = []
rewriters: dict[str, Any] = {}
"""Options of the graph's rewriting, with what they are set to."""
parts: list[Callable[[ConfigProto], None]] = []
"""What other settings add to a session's config."""


def session_config() -> ConfigProto:
    """The config of a session that is given none: a new one, by the settings as they are."""
    config = ConfigProto()
    for name, value in _numbers.items():
        setattr(config, name, value)
    if _jit:
        config.graph_options.optimizer_options.global_jit_level = _jit[0]
    rewriting = config.graph_options.rewrite_options
    for name, value in rewriters.items():
        switch = rewriting.ON if value else rewriting.OFF
        setattr(rewriting, name, switch if name not in UNSWITCHED else value)
    for add in parts:
        add(config)
    return config


UNSWITCHED = ("disable_model_pruning", "disable_meta_optimizer", "min_graph_nodes")
"""Options that are no switches of a rewriter: their values are taken as they are."""


def forget() -> None:
    """Gives all settings of this module back their defaults."""
    for settings in (_numbers, _jit, rewriters):
        settings.clear()


def get_soft_device_placement() -> bool:
    """Whether an op runs elsewhere if its device has no kernel for it. False by default."""
    return bool(_numbers.get("allow_soft_placement", False))


def set_soft_device_placement(enabled: bool) -> None:
    """Lets new sessions without a config run ops elsewhere that their device has no kernel for.

    TypeError for what is no bool.
    """
    _numbers["allow_soft_placement"] = to_bool("enabled", enabled)


def get_log_device_placement() -> bool:
    """Whether the device of each op is printed. False by default."""
    return bool(_numbers.get("log_device_placement", False))


def set_log_device_placement(enabled: bool) -> None:
    """Lets new sessions without a config print the device of each op, to standard error.

    TypeError for what is no bool.
    """
    _numbers["log_device_placement"] = to_bool("enabled", enabled)


def get_inter_op_parallelism_threads() -> int:
    """The number of threads between ops; 0, the default: the system chooses."""
    return _numbers.get("inter_op_parallelism_threads", 0)


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Sets the threads between ops of new sessions without a config; 0: the system chooses.

    As the field of the ConfigProto. TypeError for what is no int.
    """
    _numbers["inter_op_parallelism_threads"] = to_int("num_threads", num_threads)


def get_intra_op_parallelism_threads() -> int:
    """The number of threads of an op; 0, the default: the system chooses."""
    return _numbers.get("intra_op_parallelism_threads", 0)


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets the threads of an op of new sessions without a config; 0: the system chooses.

    As the field of the ConfigProto. TypeError for what is no int.
    """
    _numbers["intra_op_parallelism_threads"] = to_int("num_threads", num_threads)


def get_jit() -> bool:
    """Whether ops are fused into kernels of their own at once, not only when it pays."""
    return bool(_jit) and _jit[0] in (OptimizerOptions.ON_1, OptimizerOptions.ON_2)


def set_jit(enabled: bool) -> None:
    """Sets `OptimizerOptions.global_jit_level` of new sessions without a config: ON_1 or OFF.

    TypeError for what is no bool.
    """
    _jit[:] = [OptimizerOptions.ON_1 if to_bool("enabled", enabled) else OptimizerOptions.OFF]

"""The settings of the whole process, which apply to sessions without a ConfigProto.

Functions of `tf.config.threading`, `tf.config.optimizer`, `tf.config.experimental` and
`tf.debugging` change these settings. As in TensorFlow, a session with a ConfigProto ignores them,
and a session keeps the settings from the time when it was created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.proto_messages import to_bool, to_int
from gpugraph.config.config_proto import ConfigProto, OptimizerOptions

_numbers: dict[str, int] = {}
"""Values of fields of the ConfigProto, by field name."""
_jit: list[int] = []
rewriters: dict[str, Any] = {}
"""Values of fields of the RewriterConfig, by field name."""
parts: list[Callable[[ConfigProto], None]] = []
"""Functions of other modules that apply their settings to a session's config."""


def session_config() -> ConfigProto:
    """Return a new ConfigProto with the current settings, for a session without a config."""
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
"""RewriterConfig fields that do not switch a rewriter on or off: their values are copied."""


def forget() -> None:
    """Reset all settings of this module to their defaults."""
    for settings in (_numbers, _jit, rewriters):
        settings.clear()


def get_soft_device_placement() -> bool:
    """Return whether an op in a new session without a config uses another device if its own device
    has no kernel for it. By default, such an op uses no other device.
    """
    return bool(_numbers.get("allow_soft_placement", False))


def set_soft_device_placement(enabled: bool) -> None:
    """Set whether an op in a new session without a config uses another device if its own device has
    no kernel for it.

    Raises TypeError if `enabled` is not a bool.
    """
    _numbers["allow_soft_placement"] = to_bool("enabled", enabled)


def get_log_device_placement() -> bool:
    """Return whether new sessions without a config print the device of each op. By default, the
    devices are not printed.
    """
    return bool(_numbers.get("log_device_placement", False))


def set_log_device_placement(enabled: bool) -> None:
    """Set whether new sessions without a config print the device of each op, to standard error.

    Raises TypeError if `enabled` is not a bool.
    """
    _numbers["log_device_placement"] = to_bool("enabled", enabled)


def get_inter_op_parallelism_threads() -> int:
    """Return the number of threads that run ops at the same time. With 0, the default, gpugraph
    chooses the number.
    """
    return _numbers.get("inter_op_parallelism_threads", 0)


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set the number of threads that run ops at the same time in new sessions without a config.

    0 leaves the choice to gpugraph. Raises TypeError if `num_threads` is not an int.
    """
    _numbers["inter_op_parallelism_threads"] = to_int("num_threads", num_threads)


def get_intra_op_parallelism_threads() -> int:
    """Return the number of threads that one op may use. With 0, the default, gpugraph chooses the
    number.
    """
    return _numbers.get("intra_op_parallelism_threads", 0)


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set the number of threads that one op may use in new sessions without a config.

    0 leaves the choice to gpugraph. Raises TypeError if `num_threads` is not an int.
    """
    _numbers["intra_op_parallelism_threads"] = to_int("num_threads", num_threads)


def get_jit() -> bool:
    """Return whether new sessions without a config have the `OptimizerOptions.global_jit_level`
    ON_1.
    """
    return bool(_jit) and _jit[0] in (OptimizerOptions.ON_1, OptimizerOptions.ON_2)


def set_jit(enabled: bool) -> None:
    """Set `OptimizerOptions.global_jit_level` of new sessions without a config: ON_1 or OFF.

    Raises TypeError if `enabled` is not a bool.
    """
    _jit[:] = [OptimizerOptions.ON_1 if to_bool("enabled", enabled) else OptimizerOptions.OFF]

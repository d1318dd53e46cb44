"""Settings of native kernels. The session's config, the environment and the C compiler determine
whether plans use native kernels.

OptimizerOptions.global_jit_level   DEFAULT: kernels are compiled in the background; ON_1, ON_2:
                                    the first run waits for them; OFF: there are no kernels
GPUGRAPH_NATIVE                     "0" is OFF and "wait" is ON_1, for the whole process
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

from gpugraph.config import ConfigProto, OptimizerOptions
from gpugraph.config.environment import setting
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.graph.client.creation_origin import stack_level

_WARNED: set[str] = set()


class Jit(NamedTuple):
    """Whether plans use native kernels, whether a first run waits for their compilation, and the
    reason if native kernels are disabled.
    """

    is_on: bool
    waits: bool
    reason: str


def jit(config: ConfigProto) -> Jit:
    """Return whether a session with this config uses native kernels."""
    level = config.graph_options.optimizer_options.global_jit_level
    value = setting("GPUGRAPH_NATIVE")
    if value == "0":
        return Jit(False, False, "GPUGRAPH_NATIVE is 0")
    if level == OptimizerOptions.OFF:
        return Jit(False, False, "global_jit_level is OFF")
    reason = compiler().reason
    if reason:
        return Jit(False, False, reason)
    return Jit(True, value == "wait" or level in (OptimizerOptions.ON_1, OptimizerOptions.ON_2), "")


def warn_once(reason: str) -> None:
    """Log a warning about a cause of slow runs: a failed compilation, or a cache directory that
    can't be used. Each warning is logged once per process.

    Args:
      reason: the reason why a compilation failed, or "" if none did.
    """
    cache = compiler().cache.reason
    for message in (f"native code is not used: {reason}" if reason else "", cache):
        if message and message not in _WARNED:
            _WARNED.add(message)
            warnings.warn(message, RuntimeWarning, stacklevel=stack_level())

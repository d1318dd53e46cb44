"""Whether plans get native kernels: by the session's settings, the environment and the compiler.

OptimizerOptions.global_jit_level   DEFAULT: compiled in the background; ON_1, ON_2: waited for
                                    before the first run; OFF: none
GPUGRAPH_NATIVE                     "0" and "wait" mean the same for the whole process
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
    """is_on: whether there are native kernels; waits: from the first run on; or why not."""

    is_on: bool
    waits: bool
    reason: str


def jit(config: ConfigProto) -> Jit:
    """What holds for a session."""
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
    """Warns once of what makes runs slower: a compiler that fails, a cache that can't be used."""
    cache = compiler().cache.reason
    for message in (f"native code is not used: {reason}" if reason else "", cache):
        if message and message not in _WARNED:
            _WARNED.add(message)
            warnings.warn(message, RuntimeWarning, stacklevel=stack_level())

"""The code that currently runs a step: for reports on which steps are native and why others are
not.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

CodeState = Literal["native", "graph", "waiting", "plain"]


class StepCode(NamedTuple):
    """The code that runs a step, or that its next run would use.

    state: "native", native code of the CPU; "graph", part of a CUDA graph; "waiting", its kernel,
    until its native code or graph is ready; "plain", its kernel permanently. reason: why it waits,
    or is plain.
    """

    state: CodeState
    reason: str = ""


NATIVE = StepCode("native")
GRAPH = StepCode("graph")
PLAIN = StepCode("plain", "it moves tensors or flags")


def plain_code() -> StepCode:
    """Return the code of steps that move tensors and flags."""
    return PLAIN

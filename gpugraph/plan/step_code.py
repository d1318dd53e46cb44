"""The code by which a step runs at the moment: how reports know what is native, and why not."""

from __future__ import annotations

from typing import Literal, NamedTuple

CodeState = Literal["native", "graph", "waiting", "plain"]


class StepCode(NamedTuple):
    """The code that runs a step, or that its next run would take.

    state: "native", native code of the CPU; "graph", part of a CUDA graph; "waiting", its kernel,
    until its native code or graph is there; "plain", its kernel for good. reason: why it waits, or
    is plain.
    """

    state: CodeState
    reason: str = ""


NATIVE = StepCode("native")
GRAPH = StepCode("graph")
PLAIN = StepCode("plain", "it moves tensors or flags")


def plain_code() -> StepCode:
    """The code of steps that move tensors and flags."""
    return PLAIN

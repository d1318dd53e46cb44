"""The code that currently runs a step, for reports on which steps are native and why others are
not.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

CodeState = Literal["native", "graph", "waiting", "plain"]


class StepCode(NamedTuple):
    """The code that runs a step, or that its next run would use.

    state: "native", native code of the CPU; "graph", part of a CUDA graph; "waiting", the step's
    NumPy kernel or separate launch until native code or a graph is ready; "plain", the same
    permanently. reason: why the step waits for other code, or will get none.
    """

    state: CodeState
    reason: str = ""


NATIVE = StepCode("native")
GRAPH = StepCode("graph")
PLAIN = StepCode("plain", "it moves tensors or flags")


def plain_code() -> StepCode:
    """Return PLAIN, the code of a step that copies tensors or sets flags and never becomes
    native.
    """
    return PLAIN

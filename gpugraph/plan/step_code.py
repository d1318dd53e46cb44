"""The kind of code that currently runs a step. Reports show which steps are native, and why the
remaining steps are not.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

CodeState = Literal["native", "graph", "waiting", "plain"]


class StepCode(NamedTuple):
    """The kind of code that runs a step, or will run it in the next run.

    Args:
      state: "native" for native code on the CPU, or "graph" for a part of a CUDA graph. "waiting"
        means that NumPy or a separate launch runs the step until native code or a graph is ready.
        "plain" means that NumPy or a separate launch runs it permanently.
      reason: the reason why the state is "waiting" or "plain".
    """

    state: CodeState
    reason: str = ""


NATIVE = StepCode("native")
GRAPH = StepCode("graph")
PLAIN = StepCode("plain", "it moves tensors or flags")


def plain_code() -> StepCode:
    """Return PLAIN, the code of a step that only copies tensors or sets flags and therefore never
    becomes native.
    """
    return PLAIN

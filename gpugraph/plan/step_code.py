"""The code that currently runs a step. Reports use it to show which steps are native, and why
others are not.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

CodeState = Literal["native", "graph", "waiting", "plain"]


class StepCode(NamedTuple):
    """The code that runs a step, or that its next run will use.

    Args:
      state: "native", native code of the CPU; "graph", part of a CUDA graph; "waiting", NumPy or a
        separate launch until native code or a graph is ready; "plain", NumPy or a separate launch
        permanently.
      reason: why the step waits, or why it stays plain.
    """

    state: CodeState
    reason: str = ""


NATIVE = StepCode("native")
GRAPH = StepCode("graph")
PLAIN = StepCode("plain", "it moves tensors or flags")


def plain_code() -> StepCode:
    """Return PLAIN, the code of a step that never becomes native because it only copies tensors or
    sets flags.
    """
    return PLAIN

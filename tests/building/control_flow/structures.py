"""Graphs as lines of text, written of this package's graphs and of TensorFlow's alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["expected", "lines"]

_MOVES = {
    "Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit",
    "NextIteration", "RefNextIteration", "LoopCond", "ControlTrigger", "StackV2", "StackPushV2",
    "StackPopV2",
}  # fmt: skip
_SAME = {"AddV2": "Add"}
_ATTRS = ("frame_name", "is_constant", "parallel_iterations", "swap_memory", "elem_type")


def lines(name: str, graph: Any) -> list[str]:
    """Return one line per operation: name, op type, inputs, control inputs, attrs, device, shapes.

    For a program named `gradient ...`, return only the ops that move tensors, without shapes: the
    ops inside other gradients differ from TensorFlow's.
    """
    only_moves = name.startswith("gradient")
    found = []
    for op in graph.get_operations():
        if only_moves and op.type not in _MOVES:
            continue
        inputs = [each.name.removesuffix(":0") for each in op.inputs]
        controls = sorted(f"^{each.name}" for each in op.control_inputs)
        shapes = [] if only_moves else ["".join(f"{each.shape}".split()) for each in op.outputs]
        device = [f"on={op.device}"] if op.device else []
        kind = _SAME.get(op.type, op.type)
        found.append(" ".join([op.name, kind, *inputs, *controls, *_attrs(op), *device, *shapes]))
    return sorted(found)


def _attrs(op: Any) -> list[str]:
    found = []
    for key in _ATTRS:
        try:
            value = op.get_attr(key)
        except ValueError:
            continue
        value = value.decode() if isinstance(value, bytes) else getattr(value, "name", value)
        found.append(f"{key}={value}")
    try:
        groups = sorted(each.decode() for each in op.get_attr("_class"))
    except ValueError:
        groups = []
    return found + groups


def expected() -> dict[str, list[str]]:
    """Return the lines of each program's graph as TensorFlow makes it."""
    tables: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("structures.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            current = tables[line[2:]] = []
        elif line:
            current.append(line)
    return tables

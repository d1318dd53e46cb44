"""Explanations as dicts of JSON values, for tools."""

from __future__ import annotations

from typing import Any

from gpugraph.plan import BufferRecord
from gpugraph.session.explanations.explanation import Explanation


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as a dict of operations, steps, transfers, passes and memory."""
    return {
        "title": explanation.title,
        "operations": [op._replace(origin=None)._asdict() for op in explanation.placed],
        "steps": [step._asdict() for step in explanation.codes],
        "transfers": [copy._asdict() for copy in explanation.transfers],
        "passes": [
            {**report._asdict(), "lines": list(report.lines)} for report in explanation.reports
        ],
        **memory_record(explanation),
    }


def memory_record(explanation: Explanation) -> dict[str, Any]:
    """Return the arenas of a plan, its loops, and the number of its tensors whose sizes are known
    only in a run, as a dict.

    Sizes are in bytes. `peak` is the maximum number of bytes that are live at the same time, and
    `peak_tensors` are the tensors that are live at this time, largest first.
    """
    return {
        "arenas": [
            {
                "device": arena.device,
                "bytes": arena.num_bytes,
                "peak": arena.bound,
                "peak_node": arena.node,
                "peak_tensors": [_tensor_record(tensor) for tensor in arena.at_peak()],
            }
            for arena in explanation.arenas.values()
        ],
        "loops": [
            {
                "loop": loop.loop,
                "device": loop.device,
                "bytes_per_iteration": loop.num_bytes,
                "tensors": [_tensor_record(tensor) for tensor in loop.tensors],
            }
            for loop in explanation.loops
        ],
        "sized_in_runs": {device: count for device, (count, _) in explanation.sized_in_run.items()},
    }


def _tensor_record(tensor: BufferRecord) -> dict[str, Any]:
    return {
        "op": tensor.op,
        "bytes": tensor.num_bytes,
        "dtype": tensor.dtype.name,
        "shape": None if tensor.shape is None else list(tensor.shape),
        "defined_at": None if tensor.origin is None else str(tensor.origin),
    }

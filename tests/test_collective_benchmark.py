"""The rows of benchmarks/collectives.py: members run, and take turns."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import gpugraph as tf

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
collectives = importlib.import_module("collectives")


@pytest.mark.parametrize("row", collectives.ROWS)
def test_each_row_builds_a_step_of_one_member(row: str) -> None:
    _, variants = collectives.ROWS[row]
    with tf.Graph().as_default() as graph, tf.device("/job:worker/task:0/cpu:0"):
        _, op, value = collectives.build(row, variants[-2], 0, 2)
    kinds = [op.type for op in graph.get_operations()]
    counts = {"sum": 1, "small": 1, "many": 100, "training": 5}
    assert kinds.count("CollectiveReduce") == counts[row]
    assert op.graph is value.graph


@pytest.mark.exhaustive  # starts two processes
def test_members_take_turns() -> None:
    (members,) = collectives.measure("small", {"gpugraph": sys.executable}, 2).values()
    assert len(members.times) == 2 * collectives.STEPS
    assert len(members.processor_s) == 2
    assert min(members.processor_s) > 0

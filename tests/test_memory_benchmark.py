"""The rows of benchmarks/memory.py: planned within 3 % of the bound, and run."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import gpugraph as tf
from gpugraph.ops.tensor_arrays.element_stack import SMALL_STACK

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
memory, networks = map(importlib.import_module, ("memory", "memory_networks"))


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_the_plan_is_within_three_percent_of_the_bound(name):
    plan = memory.planned(networks.NETWORKS[name])
    assert plan["bound"] <= plan["arena"] <= 1.03 * plan["bound"]
    assert plan["arena"] <= plan["BFC"]


@pytest.mark.parametrize("name", ["digits", "RNN, while_loop"])
def test_a_step_asks_for_the_arena_and_little_more(name):
    network = networks.NETWORKS[name]
    with tf.Graph().as_default():
        session, step = memory.graph_step(tf, network)
        allocators = [device.allocator for device in session._backend.devices]
        before = memory.requested(allocators)
        losses = [step()[0] for _ in range(3)]
        more = memory.requested(allocators) - before
        session.close()
    assert losses[2] < losses[0]
    arena = memory.planned(network)["arena"]
    stacks = 4 * SMALL_STACK if "loop" in name else 0  # they stay from run to run
    assert arena <= more < 2 * arena + 4096 + stacks


def test_a_row_without_peers():
    plan = {"bound": 1 << 20, "arena": 1 << 20, "BFC": 2 << 20}
    line = memory.row("net", plan, {"gpugraph": {"peak": 3 << 20}})
    assert line == "| net | 1.00 | 1.00 | 1.0000 | 2.00 | 3.00 | - | - | - |"

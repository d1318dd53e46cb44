"""Fusing: which ops go together, and that the answers stay the same to the bit."""

from __future__ import annotations

import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import gpugraph as tf
from gpugraph.compile.fusion.group_dependencies import Dependencies
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.ops.fusion import tiled_execution

from ..stages import compiled, make_target, types

SHAPE = (6, 4)
OPERANDS = [SHAPE, (), (4,), (1, 4), (6, 1), (1, 1)]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Everything is large, and a tile is two rows."""
    monkeypatch.setattr(sys.modules["gpugraph.compile.analysis.fusibility"], "LARGE", 2)
    monkeypatch.setattr(tiled_execution, "TILE", 8)
    monkeypatch.setattr(tiled_execution, "TILES_A_THREAD", 1)


def fused(unit):
    """Return names of the ops of each fused step."""
    return sorted(sorted(name for name, _, _ in ops) for ops in unit.fused.values())


def unfused():
    options = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))


def placeholder(shape=SHAPE, name="x"):
    return tf.placeholder(tf.float32, shape, name=name)


def test_a_chain_becomes_one_step():
    x = placeholder()
    y = tf.tanh(tf.multiply(x, 2.0, name="a"), name="b") + 1.0
    unit = compiled([y], {x: SHAPE}, upto="fusion_groups")
    assert fused(unit) == [["a", "add", "b"]]
    assert unit.reports[-1].summary.startswith("3 ops became 1 fused steps")
    assert "a, b, add" in unit.reports[-1].lines[0]


def test_branches_that_meet_become_one_step():
    x = placeholder()
    y = tf.tanh(x, name="a") * tf.sigmoid(x, name="b") + tf.exp(-x, name="c")
    unit = compiled([y], {x: SHAPE}, upto="fusion_groups")
    assert fused(unit) == [["Neg", "a", "add", "b", "c", "mul"]]


def test_what_leads_out_and_back_in_stays_apart():
    x = placeholder()
    a = tf.exp(x, name="a")
    around = tf.matmul(a, tf.ones([4, 4]))
    y = tf.add(a, tf.tanh(around, name="t"), name="y")
    unit = compiled([y], {x: SHAPE}, upto="fusion_groups")
    assert fused(unit) == [["t", "y"]]


def test_a_control_input_from_outside_may_not_close_a_cycle():
    x = placeholder()
    a = tf.exp(x, name="a")
    product = tf.matmul(a, tf.ones([4, 4]))
    with tf.control_dependencies([product]):
        b = tf.tanh(a, name="b")
    unit = compiled([tf.add(b, 1.0, name="c"), product], {x: SHAPE}, upto="memory_planning")
    assert fused(unit) == [["b", "c"]]


def test_results_that_others_read_are_kept():
    x = placeholder()
    a = tf.exp(x, name="a")
    b = tf.tanh(a, name="b")
    unit = compiled([tf.reduce_sum(a), b], {x: SHAPE}, upto="fusion_groups")
    (node,) = [node for node in unit.graph.op_nodes() if node.type == "_Fused"]
    assert node.num_outputs == 2


def test_integers_that_may_be_refused_are_steps_of_their_own():
    x = tf.placeholder(tf.int32, SHAPE)
    unit = compiled([(x + 1) // x - x], {x: SHAPE}, upto="fusion_groups")
    assert fused(unit) == []
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="floordiv"):
        session.run((x + 1) // x - x, {x: np.zeros(SHAPE)})


def test_shapes_and_devices_do_not_mix():
    x = placeholder()
    a = tf.exp(x, name="a")
    with tf.device("/gpu:0"):
        b = tf.tanh(a, name="b")
    wide = tf.add(b, tf.ones([2, *SHAPE]), name="wide")
    unit = compiled([wide], {x: SHAPE}, upto="fusion_groups", target=make_target(gpus=1))
    assert fused(unit) == []


def test_small_tensors_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys.modules["gpugraph.compile.analysis.fusibility"], "LARGE", 25)
    x = placeholder()
    unit = compiled([tf.tanh(tf.exp(x))], {x: SHAPE}, upto="fusion_groups")
    assert "_Fused" not in types(unit)
    assert unit.reports[-1].summary.startswith("nothing to fuse")


def test_it_can_be_switched_off_and_says_so():
    x = placeholder()
    y = tf.tanh(tf.exp(x))
    with tf.Session(config=unfused()) as session:
        report = str(session.explain(y, {x: np.ones(SHAPE)}))
    assert "switched off: opt_level is L0" in report
    with tf.Session() as session:
        report = str(session.explain(y, {x: np.ones(SHAPE)}))
    assert report.count("fused into Tanh/fused") == 2


def test_a_target_is_run_though_nobody_reads_it():
    x = placeholder()
    y = tf.tanh(tf.exp(x))
    with tf.Session() as session:
        assert session.run(y.op, {x: np.ones(SHAPE)}) is None


def test_a_branch_is_fused_by_itself():
    p, x = tf.placeholder(tf.bool, []), placeholder()
    y = tf.cond(p, lambda: tf.tanh(tf.exp(x)), lambda: tf.sin(x) * 2.0)
    for is_taken, want in ((True, np.tanh(np.exp(VALUE))), (False, np.sin(VALUE) * 2)):
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(y, {p: is_taken, x: VALUE}), want, rtol=1e-6)


def test_a_loop_between_two_members_keeps_them_apart():
    x = placeholder()
    a = tf.exp(x, name="a")
    count, _ = tf.while_loop(
        lambda i, y: tf.logical_and(i < 2, y[0, 0] < 100), lambda i, y: (i + 1, y + a), [0, x]
    )
    y = tf.add(a, tf.cast(count, tf.float32), name="y")
    assert ["a", "y"] not in fused(compiled([y], {x: SHAPE}, upto="memory_planning"))
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(y, {x: VALUE}), np.exp(VALUE) + 2, rtol=1e-6)


VALUE = np.linspace(-1, 1, 24, dtype=np.float32).reshape(SHAPE)

UNARY = [tf.tanh, tf.sigmoid, tf.negative, tf.square, tf.nn.relu, tf.exp]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum]


@st.composite
def programs(draw):
    """Instructions over a growing list of tensors: unary, binary, a sum of rows."""
    count = draw(st.integers(2, 14))
    index = st.integers(0, 100)
    kinds = st.sampled_from(["unary", "binary", "binary", "rows", "after"])
    return [(draw(kinds), draw(index), draw(index), draw(index)) for _ in range(count)]


def built(program, inputs):
    known = list(inputs)
    for kind, which, first, second in program:
        a, b = known[first % len(known)], known[second % len(known)]
        if kind == "unary":
            known.append(UNARY[which % len(UNARY)](tf.clip_by_value(a, -2.0, 2.0)))
        elif kind == "binary":
            known.append(BINARY[which % len(BINARY)](a, b))
        elif kind == "rows" and a.shape.ndims == 2:
            known.append(tf.reduce_sum(a, 0, keepdims=True))
        elif kind == "after":
            with tf.control_dependencies([a]):
                known.append(tf.tanh(b))
    return known[len(inputs) :]


@given(programs(), st.sampled_from([1, 5, 8, 100]), st.sampled_from([1, 2, 3]), st.data())
@settings(max_examples=60, deadline=None)
def test_answers_are_the_same_to_the_bit(program, tile, threads, data):
    with pytest.MonkeyPatch.context() as patch, tf.Graph().as_default():
        patch.setattr(tiled_execution, "TILE", tile)
        patch.setenv("GPUGRAPH_THREADS", str(threads))
        inputs = [placeholder(shape, f"x{index}") for index, shape in enumerate(OPERANDS)]
        results = built(program, inputs)
        if not results:
            return
        chosen = data.draw(st.lists(st.sampled_from(results), min_size=1, max_size=3))
        random = np.random.RandomState(len(program))
        feeds = {tensor: random.randn(*tensor.shape.as_list()) for tensor in inputs}
        with tf.Session() as session, tf.Session(config=unfused()) as plain:
            for got, want in zip(session.run(chosen, feeds), plain.run(chosen, feeds)):
                np.testing.assert_array_equal(got, want)


def test_a_group_that_grows_is_seen_by_those_that_came_before():
    x = placeholder()
    with tf.device("/cpu:0"):
        a = tf.exp(x, name="a")
    with tf.device("/cpu:1"):
        other = tf.tanh(x, name="other")
        reader = tf.sin(a, name="taken")
    with tf.device("/cpu:0"):
        grown = tf.add(a, other, name="grown")
    with tf.device("/cpu:1"):
        last = tf.add(reader, other, name="last")
    unit = compiled([grown, last], {x: SHAPE}, upto="memory_planning", target=make_target(cpus=2))
    assert not any({"a", "grown"} <= set(group) for group in fused(unit)) or not any(
        {"other", "last"} <= set(group) for group in fused(unit)
    )


def test_an_op_of_many_groups_is_visited_in_proportion_to_its_inputs(monkeypatch):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)  # sums of many are fused natively
    if compiler().reason:
        pytest.skip(compiler().reason)
    calls, reach = [], Dependencies.reach

    def counting(self, node):
        calls.append(node)
        return reach(self, node)

    monkeypatch.setattr(Dependencies, "reach", counting)
    counts = []
    for count in (50, 100):
        with tf.Graph().as_default():
            x = placeholder()
            y = tf.add_n([tf.tanh(x * float(number)) for number in range(count)])
            calls.clear()
            compiled([y], {x: SHAPE}, upto="fusion_groups")
            counts.append(len(calls))
    assert counts[1] < 3 * counts[0]

"""Recomputation, sums term by term and swapping beside branches and loops: the same bits."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import gpugraph as tf
from gpugraph import compile as compilation
from gpugraph.compile.memory import idle_tensors, swap_choice
from gpugraph.compile.rewriting import activation_recomputation, gradual_sums
from gpugraph.config import OptimizerOptions, RewriterConfig

from ...test_random_control_flow import (
    SIZE,
    STATE,
    Statement,
    expected,
    graphed,
    placing,
    statements,
)

RECOMPUTE = RewriterConfig.RECOMPUTATION_HEURISTICS


def session_with(mode: int, gpus: int = 0, **fields: Any) -> tf.Session:
    rewrites = RewriterConfig(memory_optimization=mode, **fields)
    optimizer = OptimizerOptions(global_jit_level=OptimizerOptions.OFF)
    graph_options = tf.GraphOptions(rewrite_options=rewrites, optimizer_options=optimizer)
    config = tf.ConfigProto(
        graph_options=graph_options,
        gpu_options=tf.GPUOptions(virtual_gpus=gpus),
        allow_soft_placement=True,
    )
    return tf.Session(config=config)


def values_of(program: list[Statement], seed: int, mode: int, gpus: int) -> tuple[list[bytes], str]:
    """Return values and gradients as bytes, and the report of recomputed ops."""
    fed, _ = expected(program, seed)
    with tf.Graph().as_default(), session_with(mode, gpus) as session:
        inputs = [tf.placeholder(tf.float64, [SIZE]) for _ in range(STATE)]
        outputs = graphed(program, [tf.sin(value) for value in inputs], placing(gpus))
        outputs = [tf.tanh(tf.sin(value) * 2.0) for value in outputs]
        slopes = tf.gradients(outputs, inputs, unconnected_gradients="zero")
        feeds = dict(zip(inputs, fed))
        said = session.explain([outputs, slopes], feeds).of_pass("activation_recomputation")
        values = session.run(outputs + slopes, feeds)
        return [np.asarray(value).tobytes() for value in values], said


@pytest.fixture(scope="module", autouse=True)
def whatever_can_be_done_is_done() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradual_sums, "LARGE", 1)
        patch.setattr(gradual_sums, "LARGE_TERM", 1)
        patch.setattr(swap_choice, "copy_seconds", lambda num_bytes: 0.0)
        patch.setattr(idle_tensors, "SMALL", 1)
        yield


DEGREES = pytest.mark.parametrize(
    "degree", [activation_recomputation.CHEAP, activation_recomputation.ALL]
)
SEEDS, GPUS = st.integers(0, 1000), st.sampled_from([0, 2])


def compare(degree: int, program: list[Statement], seed: int, gpus: int) -> None:
    plain, _ = values_of(program, seed, RewriterConfig.NO_MEM_OPT, gpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "CHEAP", degree)
        assert values_of(program, seed, RewriterConfig.HEURISTICS, gpus)[0] == plain


@DEGREES
@given(statements(1), SEEDS, GPUS)
@settings(max_examples=8, deadline=None)
def test_random_programs(degree: int, program: list[Statement], seed: int, gpus: int) -> None:
    compare(degree, program, seed, gpus)


@pytest.mark.exhaustive
@DEGREES
@given(statements(3), SEEDS, GPUS)
@settings(max_examples=40, deadline=None)
def test_deep_random_programs(degree: int, program: list[Statement], seed: int, gpus: int) -> None:
    compare(degree, program, seed, gpus)


ROWS, WIDTH = 64, 512


def wide(x: Any, count: int = 4) -> Any:
    """Layers of cheap ops."""
    for _ in range(count):
        x = tf.tanh(tf.sin(x) * tf.sigmoid(x) + tf.cos(x)) + x
    return x


def looped(x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.sin(y)), [0, x])[1]


def branching(function: Any, x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > -1e9, lambda: function(x), lambda: x)


def inside(x: Any) -> Any:
    """Return a loop whose body goes down a gradient."""

    def body(i: Any, y: Any) -> Any:
        return i + 1, y - 0.1 * tf.gradients(tf.reduce_sum(wide(y)), y)[0]

    return tf.while_loop(lambda i, _: i < 3, body, [0, x])[1]


NETWORKS = {
    "beside a loop": lambda x: (wide(looped(wide(x))), True),
    "in a branch": lambda x: (branching(wide, x), True),
    "in a loop": lambda x: (inside(x), False),
}


@DEGREES
@pytest.mark.parametrize("name", NETWORKS)
def test_memory_falls_and_bits_stay(name: str, degree: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(compilation, "CHEAP", degree)
    results = []
    for mode in (RewriterConfig.NO_MEM_OPT, RECOMPUTE):
        with tf.Graph().as_default(), session_with(mode) as session:
            x = tf.placeholder(tf.float32, [ROWS, WIDTH])
            y, has_slope = NETWORKS[name](x)
            fetches = [y, tf.gradients(y, x)[0]] if has_slope else [y]
            feeds = {x: np.random.RandomState(0).normal(size=(ROWS, WIDTH))}
            plan = session.explain(fetches, feeds)
            (size,) = plan.arena_bytes.values()
            values = [value.tobytes() for value in session.run(fetches, feeds)]
            results.append((values, size, plan.of_pass("activation_recomputation")))
    (values, size, _), (again, less, said) = results
    assert values == again
    assert less < 0.75 * size, said
    assert " 0 ops" not in said and "recomputed" in said


@pytest.mark.parametrize("in_branch", [False, True])
def test_sums_come_term_by_term_beside_loops_and_in_branches(
    in_branch: bool, monkeypatch: Any
) -> None:
    def total(x: Any) -> Any:
        terms = [x]
        for _ in range(10):
            terms.append(tf.matmul(terms[-1], x))
        return tf.add_n(terms)

    results = []
    for large in (1, 1 << 60):
        monkeypatch.setattr(gradual_sums, "LARGE", large)
        with tf.Graph().as_default(), session_with(RewriterConfig.NO_MEM_OPT) as session:
            x = tf.placeholder(tf.float32, [96, 96])
            y = branching(total, x) if in_branch else total(looped(x))
            feeds = {x: np.random.RandomState(0).normal(size=(96, 96)) / 10}
            plan = session.explain(y, feeds)
            (size,) = plan.arena_bytes.values()
            results.append((session.run(y, feeds).tobytes(), size, plan.of_pass("gradual_sums")))
    (value, less, said), (expected_value, size, _) = results
    assert value == expected_value and less < 0.6 * size
    assert "10 sums of terms" in said

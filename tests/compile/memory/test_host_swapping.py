"""Swapping: tensors of GPUs on the host meanwhile; the same values to the bit, smaller arenas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.compile.analysis import step_time_model
from gpugraph.compile.memory import idle_tensors, swap_choice
from gpugraph.config import RewriterConfig

SWAPPING = RewriterConfig.SWAPPING_HEURISTICS
GPU, CPU = (f"/job:localhost/replica:0/task:0/device:{kind}:0" for kind in ("GPU", "CPU"))
KINDS = ["virtual_gpus", "emulated_gpus"]


def session_with(mode: int, kind: str = KINDS[0], limit: int = 256, **fields: Any) -> tf.Session:
    rewrites = RewriterConfig(memory_optimization=mode, **fields)
    options = tf.GPUOptions(**{kind: [limit]}) if kind else tf.GPUOptions()
    graph_options = tf.GraphOptions(rewrite_options=rewrites)
    return tf.Session(config=tf.ConfigProto(gpu_options=options, graph_options=graph_options))


def layers(x: Any, width: int, count: int) -> Any:
    y = x
    for index in range(count):
        start = np.random.RandomState(index).uniform(-1, 1, (width, width)) * width**-0.5
        y = tf.nn.relu(tf.matmul(y, tf.get_variable(f"w{index}", initializer=start.astype("f"))))
    return tf.reduce_mean(tf.square(y))


def trained(
    session: tf.Session, rows: int, width: int, count: int = 5, steps: int = 3
) -> tuple[list[str], dict[str, int], str]:
    """Return the losses of some steps as hex, the bytes of arenas, and the pass's report."""
    x = tf.placeholder(tf.float32, [rows, width])
    with tf.device("/gpu:0"):
        loss = layers(x, width, count)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with session:
        session.run(tf.global_variables_initializer())
        feeds = {x: np.random.RandomState(0).normal(size=(rows, width))}
        explanation = session.explain([loss, train], feeds)
        losses = [float(session.run([loss, train], feeds)[0]).hex() for _ in range(steps)]
        return losses, dict(explanation.arena_bytes), explanation.of_pass("host_swapping")


def training(mode: int, kind: str = KINDS[0], limit: int = 128, **sizes: int) -> Any:
    with tf.Graph().as_default():
        return trained(session_with(mode, kind, limit), **sizes)


def widest(y: Any) -> Any:
    """Return an expression that needs several tensors at a time."""
    return tf.matmul(tf.tanh(y), tf.matmul(tf.sin(y), tf.cos(y)))


@pytest.fixture
def slow_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU whose products of small matrices take as long as others' of large ones."""
    monkeypatch.setattr(step_time_model, "OPERATIONS", 1e11)


@pytest.fixture
def free_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy take no time, so that whatever is idle is swapped."""
    monkeypatch.setattr(swap_choice, "copy_seconds", lambda num_bytes: 0.0)
    monkeypatch.setattr(idle_tensors, "SMALL", 1)


@pytest.mark.usefixtures("slow_gpu")
def test_what_large_products_hide_is_on_the_host_meanwhile() -> None:
    sizes = {"rows": 256, "width": 256, "count": 6, "steps": 2}
    losses, arenas, said = training(RewriterConfig.DEFAULT_MEM_OPT, **sizes)
    assert "not requested" in said and CPU not in arenas
    swapped_losses, swapped, said = training(SWAPPING, **sizes)
    assert swapped_losses == losses
    activation = 256 * 256 * 4
    assert swapped[GPU] <= arenas[GPU] - 2 * activation
    assert swapped[CPU] >= 2 * activation
    assert "4 tensors, 1.00MiB, are on the host between two uses" in said
    assert "Relu: 256.0KiB to the host, hidden by the computation: 0.0268 ms" in said


@pytest.mark.parametrize("kind", KINDS)
def test_copies_that_take_longer_than_what_is_computed_meanwhile_are_not_made(kind: str) -> None:
    losses, arenas, said = training(SWAPPING, kind, rows=65536, width=4, count=2)
    assert "nothing: no tensor of a GPU is idle for long enough" in said
    assert "stays: copies of" in said and "are not hidden by" in said
    assert (losses, arenas) == training(0, kind, rows=65536, width=4, count=2)[:2]


@pytest.mark.usefixtures("free_copies")
@pytest.mark.parametrize("kind", KINDS)
def test_losses_stay_on_each_kind_of_gpu(kind: str) -> None:
    losses, arenas, _ = training(0, kind, rows=512, width=32)
    swapped_losses, swapped, said = training(SWAPPING, kind, rows=512, width=32)
    assert losses == swapped_losses and swapped[GPU] < 0.8 * arenas[GPU]
    assert "hidden by the computation" in said
    assert (CPU in swapped) is (kind == KINDS[0])  # an emulated one swaps to pinned memory


def test_a_step_that_does_not_fit_swaps_what_it_has_to() -> None:
    sizes = {"rows": 4096, "width": 64, "count": 8, "steps": 1}
    losses, arenas, _ = training(0, **sizes)
    assert arenas[GPU] > 10 << 20
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
        training(0, limit=10, **sizes)
    fitting, swapped, said = training(SWAPPING, limit=10, **sizes)
    assert fitting == losses and swapped[GPU] < 9 << 20
    assert "without it the arena exceeds the memory" in said


def test_without_a_gpu_there_is_nothing_to_swap() -> None:
    with tf.Graph().as_default(), session_with(SWAPPING, "") as session:
        x = tf.placeholder(tf.float32, [8])
        said = session.explain(tf.exp(x), {x: np.zeros(8)}).of_pass("host_swapping")
    assert "nothing: no GPU" in said


@pytest.mark.parametrize("hint, kind", [(1, KINDS[0]), ([0, 1], KINDS[0]), (1, KINDS[1])])
def test_a_hint_is_obeyed(hint: Any, kind: str) -> None:
    def run(mode: int) -> tuple[Any, dict[str, int], str]:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [256, 256])
            with tf.device("/gpu:0"):
                early = tf.exp(x, name="early")
                y = tf.matmul(early, early)
                for index in range(12):
                    y = widest(y) if 4 <= index < 8 else tf.matmul(y, x)
                last = tf.add(y, early, name="last")
                last.op._set_attr("_swap_to_host", hint)
            with session_with(mode, kind) as session:
                feeds = {x: np.full((256, 256), 0.01)}
                explanation = session.explain(last, feeds)
                value = session.run(last, feeds)
                return value, dict(explanation.arena_bytes), explanation.of_pass("host_swapping")

    value, arenas, _ = run(RewriterConfig.NO_MEM_OPT)
    swapped_value, swapped, said = run(RewriterConfig.MANUAL)
    np.testing.assert_array_equal(value, swapped_value)
    assert "early: 256.0KiB to the host, requested by last" in said
    assert swapped[GPU] < arenas[GPU]
    assert (swapped.get(CPU, 0) > arenas.get(CPU, 0)) is (kind == KINDS[0])


@pytest.mark.usefixtures("free_copies")
@pytest.mark.parametrize("kind", KINDS)
def test_views_of_what_came_back_and_several_late_uses(kind: str) -> None:
    def run(mode: int) -> tuple[Any, str]:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [64, 64])
            with tf.device("/gpu:0"):
                early = tf.exp(x, name="early")
                flat = tf.reshape(tf.identity(early), [128, 32])
                y = tf.matmul(early, early)
                for index in range(12):
                    y = widest(y) if 4 <= index < 8 else tf.matmul(y, x)
                twice = tf.matmul(tf.reshape(y, [32, 128]), flat)
                late = tf.reduce_sum(twice) + tf.reduce_sum(tf.matmul(early, y))
            with session_with(mode, kind) as session:
                feeds = {x: np.random.RandomState(1).normal(size=(64, 64)) / 64}
                said = session.explain([late, twice], feeds).of_pass("host_swapping")
                return [session.run([late, twice], feeds) for _ in range(2)], said

    values, _ = run(0)
    swapped, said = run(SWAPPING)
    assert "are on the host between" in said
    for one, other in zip(values, swapped):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.usefixtures("free_copies")
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_fails_while_tensors_are_on_the_host_leaves_nothing_behind(kind: str) -> None:
    refuses = [False]

    def fragile(value: Any) -> Any:
        if refuses[0]:
            raise ValueError("refused")
        return value

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 64])
        with tf.device("/gpu:0"):
            early = tf.exp(x)
            y = tf.matmul(early, early)
            for _ in range(6):
                y = tf.matmul(y, x)
        y = tf.py_func(fragile, [y], tf.float32)
        y.set_shape([64, 64])
        with tf.device("/gpu:0"):
            for _ in range(6):
                y = tf.matmul(y, x)
            late = tf.matmul(early, y)
        with session_with(SWAPPING, kind) as session:
            feeds = {x: np.random.RandomState(1).normal(size=(64, 64)) / 8}
            assert "on the host between" in session.explain(late, feeds).of_pass("host_swapping")
            value = session.run(late, feeds)
            for _ in range(3):
                refuses[0] = True
                with pytest.raises(tf.errors.OpError, match="refused"):
                    session.run(late, feeds)
                refuses[0] = False
                np.testing.assert_array_equal(session.run(late, feeds), value)


@pytest.mark.usefixtures("slow_gpu")
def test_swapping_and_recomputation_together() -> None:
    sizes = {"rows": 256, "width": 256, "count": 6, "steps": 1}
    losses = training(0, **sizes)[0]
    with tf.Graph().as_default():
        session = session_with(RewriterConfig.HEURISTICS)
        both, _, said = trained(session, **sizes)
    assert both == losses and "are on the host between two uses" in said


OPS = [tf.exp, tf.tanh, tf.negative, tf.transpose, tf.identity]


CHOICES = st.lists(st.tuples(*[st.integers(0, 99)] * 3), max_size=24)
ON_HOST = st.sets(st.integers(0, 23), max_size=3)


@pytest.mark.usefixtures("free_copies")
@given(choices=CHOICES, on_host=ON_HOST)
@settings(max_examples=20)
def test_random_graphs(choices: Any, on_host: set[int]) -> None:
    """Any graph has the same values; most of the tensors that are idle are swapped."""
    compare(choices, on_host, KINDS[0])


@pytest.mark.exhaustive
@pytest.mark.usefixtures("free_copies")
@given(choices=CHOICES, on_host=ON_HOST)
@settings(max_examples=40)
def test_random_graphs_on_an_emulated_gpu(choices: Any, on_host: set[int]) -> None:
    compare(choices, on_host, KINDS[1])


def compare(choices: Any, on_host: set[int], kind: str) -> None:

    def run(mode: int) -> tuple[Any, int]:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [16, 16])
            tensors = [x]
            for index, (which, one, other) in enumerate(choices):
                left, right = tensors[one % len(tensors)], tensors[other % len(tensors)]
                with tf.device("/cpu:0" if index in on_host else "/gpu:0"):
                    if which % 7 < len(OPS):
                        tensors.append(OPS[which % 7](left))
                    else:
                        joined = tf.matmul(left, right) if which % 7 == 5 else left + right
                        tensors.append(tf.tanh(joined))
            with tf.device("/gpu:0"):
                total = tf.add_n([tf.reduce_mean(tensor) for tensor in tensors])
                total += tf.reduce_sum(tf.gradients(total, x)[0])
            with session_with(mode, kind) as session:
                feeds = {x: np.random.RandomState(1).normal(size=(16, 16)) / 4}
                size = session.explain(total, feeds).arena_bytes.get(GPU, 0)
                return [session.run(total, feeds) for _ in range(2)], size

    values, size = run(0)
    swapped_values, swapped = run(SWAPPING)
    np.testing.assert_array_equal(values, swapped_values)
    assert swapped <= size

"""Streams: the same numbers on every device, in every plan, with any number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.random.bits_to_distributions import integers, normal, truncated_normal, uniform
from gpugraph.ops.random.philox import CHUNK, Philox
from gpugraph.ops.random.seeds_and_streams import RESERVED, Stream

LARGE = 700_001

DRAWS: dict[str, Callable[[], tf.Tensor]] = {
    "uniform": lambda: tf.random_uniform([3, 50], seed=3),
    "normal": lambda: tf.random_normal([150], seed=3),
    "truncated": lambda: tf.truncated_normal([150], seed=3),
    "integers": lambda: tf.random_uniform([150], -9, 9, tf.int32, seed=3),
    "shuffle": lambda: tf.random_shuffle(np.arange(150), seed=3),
    "classes": lambda: tf.multinomial(np.zeros((2, 9), np.float32), 80, seed=3),
    "gamma": lambda: tf.random_gamma([150], [0.5, 1.0, 2.0], seed=3),
    "poisson": lambda: tf.random_poisson([0.5, 60.0], [150], seed=3),
    "stateless": lambda: tf.random.stateless_normal([150], [1, 2]),
}
every_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def on_gpus() -> tf.Session:
    return tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2)))


@every_draw
def test_devices_change_nothing(draw, request):
    """But the last places of normal numbers, where GPUs have functions of their own."""
    normal = request.node.callspec.id in ("normal", "truncated", "stateless")
    rtol = 2e-6 if normal and os.environ.get("GPUGRAPH_VIRTUAL_GPUS") else 0
    numbers = []
    for device in ("/cpu:0", "/gpu:0", "/gpu:1"):
        with tf.device(device):
            numbers.append(draw())
    with on_gpus() as session:
        for _ in range(2):
            first, *others = session.run(numbers)
            for other in others:
                np.testing.assert_allclose(first, other, rtol=rtol)
        assert session.explain(numbers[2]).device_of(numbers[2].op.name).endswith("GPU:1")


@every_draw
def test_a_new_session_starts_again(draw):
    numbers = draw()
    result = []
    for _ in range(2):
        with tf.Session() as session:
            result.append([session.run(numbers) for _ in range(3)])
    np.testing.assert_array_equal(result[0], result[1])
    changes = not np.array_equal(result[0][0], result[0][1])
    assert changes == (not numbers.op.name.startswith("stateless"))


@every_draw
def test_plans_share_a_stream(draw):
    """Other fetches make other plans; the numbers go on all the same."""
    numbers = draw()
    other = tf.identity(numbers)
    with tf.Session() as session:
        alone = [session.run(numbers) for _ in range(4)]
    with tf.Session() as session:
        mixed = [session.run(numbers), session.run(other), session.run([numbers, other])[0]]
        mixed.append(session.run(numbers))
    np.testing.assert_array_equal(alone, mixed)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_threads_change_nothing(dtype, monkeypatch):
    numbers = [tf.random_uniform([LARGE], dtype=dtype, seed=3)]
    numbers.append(tf.random_normal([LARGE], dtype=dtype, seed=3))
    numbers.append(tf.truncated_normal([LARGE], dtype=dtype, seed=3))
    result = []
    for threads in ("1", "3"):
        monkeypatch.setenv("GPUGRAPH_THREADS", threads)
        with tf.Session() as session:
            result.append(session.run(numbers))
    for one, other in zip(*result):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("law", ["uniform", "normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_larger_tensor_begins_with_a_smaller_ones_numbers(law, dtype):
    """Across chunks and threads: no part is drawn twice, none left out."""
    make = getattr(tf.random, law)
    with tf.Session() as session:
        large, small = session.run([make([n], dtype=dtype, seed=3) for n in (LARGE, 40_001)])
    np.testing.assert_array_equal(large[:40_001], small)
    assert len(np.unique(large)) > (500 if dtype == "float16" else 0.9 * LARGE)


def test_a_loop_goes_on_drawing():
    drawn = tf.random_uniform([2], seed=3)
    with tf.Session() as session:
        singly = [session.run(drawn) for _ in range(5)]
    start = (tf.constant(0), tf.TensorArray(tf.float32, 5))
    _, values = tf.while_loop(
        lambda i, _: i < 5,
        lambda i, values: (i + 1, values.write(i, tf.random_uniform([2], seed=3))),
        start,
    )
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(values.stack()), singly)


def test_a_branch_that_is_not_taken_draws_nothing():
    is_taken = tf.placeholder(tf.bool, [])
    numbers = tf.cond(is_taken, lambda: tf.random_uniform([2], seed=3), lambda: tf.zeros([2]))
    with tf.Session() as session:
        first = [session.run(numbers, {is_taken: True}) for _ in range(2)]
    with tf.Session() as session:
        again = [session.run(numbers, {is_taken: choice}) for choice in (True, False, False, True)]
    np.testing.assert_array_equal(first, [again[0], again[3]])


def test_sizes_known_only_in_a_run():
    rows = tf.placeholder(tf.int32, [])
    numbers = [tf.random_normal([rows, 3], seed=3), tf.random.stateless_uniform([rows, 3], [1, 2])]
    classes = tf.multinomial([[0.0, 0.0]], rows, seed=3)
    with tf.Session() as session:
        for count in range(12):
            first, second, third = session.run([*numbers, classes], {rows: count})
            assert first.shape == second.shape == (count, 3)
            assert third.shape == (1, count)


def test_a_seed_may_come_with_each_run():
    seed = tf.placeholder(tf.int64, [2])
    numbers = tf.random.stateless_uniform([3], seed)
    with tf.Session() as session:
        result = [session.run(numbers, {seed: [5, index]}) for index in (1, 2, 1)]
    np.testing.assert_array_equal(result[0], result[2])
    assert not np.array_equal(result[0], result[1])


def test_bounds_may_come_with_each_run():
    low, high = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    numbers = tf.random_uniform([200], low, high, tf.int32, seed=3)
    with tf.Session() as session:
        for bounds in ((0, 2), (-7, -5), (5, 9)):
            result = session.run(numbers, {low: bounds[0], high: bounds[1]})
            assert set(result.tolist()) == set(range(*bounds))


def test_the_widest_integers():
    for dtype in (tf.int32, tf.int64):
        most = np.iinfo(dtype.as_numpy_dtype)
        numbers = tf.random_uniform([2000], most.min, most.max, dtype, seed=3)
        with tf.Session() as session:
            shares = session.run(numbers) / float(most.max)
        assert shares.min() < -0.98 and shares.max() > 0.98


def test_streams_without_seeds_differ():
    numbers = [tf.random_uniform([4]) for _ in range(3)]
    with tf.Session() as session:
        result = [value.tobytes() for _ in range(3) for value in session.run(numbers)]
    with tf.Session() as session:
        result += [value.tobytes() for value in session.run(numbers)]
    assert len(set(result)) == len(result)


def test_misuse():
    with pytest.raises(ValueError, match="seed must have shape"):
        tf.random.stateless_uniform([2], [1, 2, 3])
    seed = tf.placeholder(tf.int32)
    numbers = tf.random.stateless_uniform([2], seed)
    bad = tf.random.stateless_uniform([2], [1, 2], 5, 5, tf.int32)
    empty = tf.random_uniform([0], 5, 5, tf.int32)
    wrong = tf.errors.InvalidArgumentError
    with tf.Session() as session:
        with pytest.raises(wrong, match=r"seed must have shape \[2\]"):
            session.run(numbers, {seed: [1, 2, 3]})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 5"
        ):
            session.run(bad)
        assert session.run(empty).shape == (0,)


def test_seeds_may_be_of_any_size():
    largest = 2**31 - 1
    assert tf.get_seed(2**100)[1] == 2**100 % largest
    assert tf.get_seed(-(2**70))[1] == -(2**70) % largest
    with tf.Graph().as_default():
        tf.set_random_seed(2**100)
        assert tf.get_seed(2**64) == (2**100 % largest, 2**64 % largest)
    with pytest.raises(TypeError, match="op_seed"):
        tf.get_seed("7")


LAWS = {
    "uniform": (uniform, ("float16", "float32", "float64")),
    "normal": (normal, ("float16", "float32", "float64")),
    "truncated": (truncated_normal, ("float16", "float32", "float64")),
    "integers": (integers(-5, 100), ("int32", "int64")),
}


@pytest.mark.parametrize(("law", "dtypes"), LAWS.values(), ids=LAWS)
def test_what_is_drawn_ahead_is_what_would_be_drawn(law, dtypes):
    for dtype in dtypes:
        stream, place = Stream(3, 2**63), Philox(3, 2**127)
        sizes = [5] * 20 + [7, 7, 7, 0, 5, 5, 9 * CHUNK, 5, 5, 5, 1, 1, 1, CHUNK, CHUNK, CHUNK]
        for size in sizes:
            result, wanted = np.zeros((1, size), dtype), np.zeros((1, size), dtype)
            stream.fill(law, result)
            law(place, wanted)
            np.testing.assert_array_equal(result, wanted)
            place = place.skip(size * RESERVED)
        assert stream.reserve(1) == place


class _Memory:
    """A device's memory, where kernels move a stream on."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.array = numbers

    def read(self) -> np.ndarray:
        return self.array.copy()

    def write(self, value: np.ndarray) -> None:
        self.array[:] = value


def test_a_stream_that_a_device_counts_is_read_and_written_there():
    stream, out = Stream(3, 4), np.zeros(5, np.float32)
    for _ in range(3):
        stream.fill(uniform, out)
    memory = stream.move("GPU:0", _Memory)
    assert memory.array.tolist() == [3 * 5 * RESERVED, 4, 3, 0]
    assert stream.move("GPU:0", _Memory) is memory
    with pytest.raises(NotImplementedError, match="position of its random numbers is on GPU:0"):
        stream.move("GPU:1", _Memory)
    memory.array[0] = 2**64 - 1
    stream.fill(uniform, out)
    wanted = np.zeros(5, np.float32)
    uniform(Philox(3, 5 * 2**64 - 1), wanted)
    np.testing.assert_array_equal(out, wanted)
    assert memory.array.tolist() == [5 * RESERVED - 1, 5, 3, 0]


CELL = tf.nn.rnn_cell.BasicLSTMCell
OPS_OF_VERSION_1: dict[str, tuple[Callable[..., object], int]] = {
    "split": (lambda x, seq, img: tf.split(x, 2, 1), 3),
    "split by sizes": (lambda x, seq, img: tf.split(x, [1, 2, 3], 1), 3),
    "layers.conv2d": (lambda x, seq, img: tf.layers.conv2d(img, 4, 3, 2, "same"), 17),
    "slim.conv2d": (lambda x, seq, img: tf.contrib.slim.conv2d(img, 4, [3, 3], scope="c"), 18),
    "conv1d": (lambda x, seq, img: tf.layers.conv1d(seq, 3, 2), 22),
    "transposed": (lambda x, seq, img: tf.layers.conv2d_transpose(img, 3, 5, 2, "SAME"), 39),
    "separable": (lambda x, seq, img: tf.layers.separable_conv2d(img, 4, 3), 29),
    "zero_state": (lambda x, seq, img: CELL(7).zero_state(4, tf.float32), 16),
    "static_rnn": (
        lambda x, seq, img: tf.nn.static_rnn(CELL(7), tf.unstack(seq, axis=1), dtype=tf.float32),
        121,
    ),
    "dynamic_rnn": (
        lambda x, seq, img: tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(3), seq, sequence_length=[5, 3, 4, 2], dtype=tf.float32
        ),
        170,
    ),
}
"""Calls, and the numbers of ops that they add to a graph in TensorFlow 1.15.5. A random op without
a seed has the number of ops before it as its seed."""


@pytest.mark.parametrize("name", OPS_OF_VERSION_1)
def test_seeds_after_a_function_count_the_ops_of_tensorflow(name: str) -> None:
    inputs = [tf.ones(shape) for shape in ([4, 6], [4, 5, 6], [2, 8, 8, 3])]
    build, count = OPS_OF_VERSION_1[name]
    before = len(tf.get_default_graph().get_operations())
    build(*inputs)
    assert len(tf.get_default_graph().get_operations()) - before == count

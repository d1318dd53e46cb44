"""Random numbers: distributions, streams and seeds."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.random import random_ops as random

from ..evaluator import Evaluator, evaluate, gradients

FLOATS = ["float16", "float32", "float64"]


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype):
    x = evaluate(random.random_uniform([100, 200], dtype=dtype, seed=1))
    assert x.dtype == dtype
    assert x.min() >= 0 and x.max() < 1
    assert np.mean(x, dtype=np.float64) == pytest.approx(0.5, abs=0.01)
    assert np.var(x, dtype=np.float64) == pytest.approx(1 / 12, abs=0.01)
    moved = evaluate(random.random_uniform([1000], -3, 5, dtype, seed=1))
    assert -3 <= moved.min() < -2 and 4 < moved.max() <= 5


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype):
    x = evaluate(random.random_normal([100, 200], 3.0, 2.0, dtype, seed=1)).astype(np.float64)
    assert x.mean() == pytest.approx(3, abs=0.06)
    assert x.std() == pytest.approx(2, abs=0.06)


@pytest.mark.parametrize("dtype", FLOATS)
def test_truncated_normal(dtype):
    x = evaluate(random.truncated_normal([100, 200], 3.0, 2.0, dtype, seed=1)).astype(np.float64)
    assert np.abs(x - 3).max() <= 4
    assert x.mean() == pytest.approx(3, abs=0.06)
    assert x.std() == pytest.approx(2 * 0.8796, abs=0.06)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(dtype):
    x = evaluate(random.random_uniform([1000], -2, 3, dtype, seed=1))
    assert x.dtype == dtype
    assert set(x.tolist()) == {-2, -1, 0, 1, 2}
    with pytest.raises(ValueError, match="Must specify maxval"):
        random.random_uniform([2], dtype=dtype)
    with pytest.raises(InvalidArgumentError, match="Need minval < maxval, got 5 >= 5"):
        evaluate(random.random_uniform([2], 5, 5, dtype))


def test_streams_go_on():
    numbers = random.random_uniform([4], seed=1)
    run = Evaluator()
    first, second = run(numbers), run(numbers)
    assert not np.array_equal(first, second)
    again = Evaluator()
    np.testing.assert_array_equal(again(numbers), first)
    np.testing.assert_array_equal(again(numbers), second)


def test_streams_differ():
    drawn = [random.random_uniform([4]) for _ in range(3)]
    drawn += [random.random_uniform([4], seed=seed) for seed in (1, 2)]
    values = evaluate(drawn)
    assert len({value.tobytes() for value in values}) == len(values)
    assert not np.array_equal(evaluate(drawn[0]), values[0])


def test_graph_seed_repeats_a_program():
    def program():
        with Graph().as_default():
            random.set_random_seed(7)
            return evaluate([random.random_normal([3]), random.random_normal([3])])

    first, second = program(), program()
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])


def test_rules_of_seeds(graph):
    assert random.get_seed(None) == (None, None)
    assert random.get_seed(5) == (random.DEFAULT_GRAPH_SEED, 5)
    assert random.get_seed(2**31 + 3) == (random.DEFAULT_GRAPH_SEED, 4)
    random.set_random_seed(3)
    assert random.get_seed(5) == (3, 5)
    assert random.get_seed(None) == (3, 0)
    constant(1)
    assert random.get_seed(None) == (3, 1)
    random.set_random_seed(0)
    assert random.get_seed(0) == (0, 2**31 - 1)
    numbers = random.random_uniform([2], seed=4)
    unit = next(op for op in graph.get_operations() if op.type == "RandomUniform")
    assert (unit.attrs["seed"], unit.attrs["seed2"]) == (0, 4)
    assert numbers.op.type == "Add"


def test_names_and_shapes(graph):
    numbers = random.random_normal([2, 3])
    assert numbers.shape == (2, 3)
    names = [op.name for op in graph.get_operations()]
    assert names == [
        "random_normal/shape", "random_normal/mean", "random_normal/stddev",
        "random_normal/RandomStandardNormal", "random_normal/mul", "random_normal",
    ]  # fmt: skip
    assert random.random_uniform(placeholder("int32", [2])).shape.as_list() == [None, None]
    assert random.random_uniform([]).shape == ()
    assert evaluate(random.random_uniform([0, 2])).shape == (0, 2)
    with pytest.raises(ValueError):
        random.random_uniform([-2])
    with pytest.raises(ValueError, match="dtype"):
        random.random_uniform([2], 0, 5, dtype="int8")


def test_gradient_of_the_bounds():
    low = constant(1.0)
    numbers = random.random_uniform([2], low, 5.0, seed=3)
    (dlow,) = gradients(numbers, [low])
    run = Evaluator()
    assert 0 < run(dlow) < 2


def test_generators_are_stateful():
    for name in ("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"):
        assert getattr(raw_ops, name).op_def.is_stateful


def test_bounds_of_integers_are_scalars():
    for bounds in (([1, 2], 10), (0, [3, 4])):
        with Graph().as_default(), pytest.raises(ValueError, match="Shape must be rank 0 but"):
            random.random_uniform([2], *bounds, dtype="int32")

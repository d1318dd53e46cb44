"""Random numbers by C: those of NumPy, to the bit, from the moment the code is there."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import prepare_source
from gpugraph.ops.random import native_random
from gpugraph.ops.random.bits_to_distributions import integers, normal, truncated_normal, uniform
from gpugraph.ops.random.native_random import FEW, FILE
from gpugraph.ops.random.philox import Philox

LAWS = {"uniform": uniform, "normal": normal, "truncated": truncated_normal}
PLACES = [Philox(7, 5 << 64), Philox(2**63 + 11, 2**128 - 1000), Philox(1, 2**64 - 70_001)]


@pytest.fixture(autouse=True)
def native(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    if compiler().reason:
        pytest.skip(compiler().reason)
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [1, 6, 1023, 70_001, 300_000])
@pytest.mark.parametrize("place", PLACES)
def test_the_numbers_are_those_of_numpy(law, size, place):
    file = prepare_source(FILE).get(True)
    numbers, expected = np.empty((2, size), np.float32)
    native_random._draw(file, LAWS[law], place, numbers)
    LAWS[law](place, expected)
    np.testing.assert_array_equal(numbers, expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("place", PLACES)
def test_integers_are_those_of_numpy(dtype, place):
    file = prepare_source(FILE).get(True)
    limits = np.iinfo(dtype)
    random = np.random.default_rng(0)
    ends = [sorted(random.integers(limits.min, limits.max, 2).tolist()) for _ in range(30)]
    ends += [(0, 1), (-3, 4), (0, 1000), (limits.min, limits.max), (-1, limits.max), (0, 3 << 29)]
    ends += [
        (7, 7 + (1 << power) + step)
        for power in range(1, 31)
        for step in (-1, 0, 1)
        if power + step
    ]
    for low, high in ends:
        law = integers(low, high)
        numbers, expected = np.empty((2, 1030), dtype)
        native_random._draw(file, law, place, numbers)
        law(place, expected)
        np.testing.assert_array_equal(numbers, expected, f"{low} to {high}")


def test_orders_are_those_of_numpy(monkeypatch):
    orders = []
    for setting in ("wait", "0"):
        monkeypatch.setenv("GPUGRAPH_NATIVE", setting)
        with tf.Graph().as_default(), tf.Session() as session:
            shuffled = [tf.random_shuffle(tf.range(size), seed=7) for size in (512, 2003)]
            orders.append([*session.run(shuffled), *session.run(shuffled)])
    for one, other in zip(*orders):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.sort(one), np.arange(len(one)))


def drawn():
    """Return numbers of all laws, two runs of each, as a new session draws them."""
    shape = [FEW + 1]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        tensors = [
            tf.random_uniform(shape),
            tf.random_normal(shape),
            tf.truncated_normal(shape),
            tf.random.stateless_normal(shape, seed=[1, 2]),
        ]
        return [*session.run(tensors), *session.run(tensors)]


def test_small_draws_become_native_and_stay_the_same(monkeypatch):
    calls, bound = [], native_random.Draw._bound
    monkeypatch.setattr(native_random, "_OFTEN", 5)
    monkeypatch.setattr(
        native_random.Draw, "_bound", lambda draw: calls.append(bound(draw)) or calls[-1]
    )
    runs = []
    for setting in ("wait", "0"):
        monkeypatch.setenv("GPUGRAPH_NATIVE", setting)
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(5)
            tensors = [tf.random_uniform([70]), tf.random_normal([33]), tf.truncated_normal([40])]
            runs.append([session.run(tensors) for _ in range(12)])
        assert any(call is not None for call in calls) is (setting == "wait")
        calls.clear()
    for values, expected in zip(*runs, strict=True):
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_array_equal(value, other)


def test_runs_give_the_same_numbers_with_and_without_native_code(monkeypatch):
    calls, draw = [], native_random._draw
    monkeypatch.setattr(native_random, "_draw", lambda *args: [calls.append(args), draw(*args)])
    numbers = drawn()
    assert len([args for args in calls if len(args[3]) == FEW + 1]) == 8
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    for values, expected in zip(numbers, drawn()):
        np.testing.assert_array_equal(values, expected)


def test_numpy_draws_until_the_code_is_there(monkeypatch):
    monkeypatch.setattr(native_random, "_PART", 4096)
    file = prepare_source(FILE).get(True)
    answers = [None, None]
    law = truncated_normal
    numbers, expected = np.empty((2, 20_001), np.float32)
    compiled = lambda seconds: answers.pop() if answers else file  # noqa: E731
    native_random._fill(compiled, law, PLACES[0], numbers)
    law(PLACES[0], expected)
    np.testing.assert_array_equal(numbers, expected)
    assert not answers


def test_code_with_other_numbers_is_not_used():
    class Broken:
        def bind(self, function, parameters, arrays):
            return lambda: arrays[1].fill(0.5)

    broken = Broken()
    numbers, expected = np.empty((2, FEW), np.float32)
    with pytest.warns(RuntimeWarning, match="other random numbers"):
        native_random._fill(lambda seconds: broken, normal, PLACES[0], numbers)
    native_random._fill(lambda seconds: broken, normal, PLACES[0], numbers)  # and warns once
    normal(PLACES[0], expected)
    np.testing.assert_array_equal(numbers, expected)

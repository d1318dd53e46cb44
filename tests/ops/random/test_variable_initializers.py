"""Initializers: shape, dtype and spread of their values, and their settings."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import gpugraph as tf

RANDOM = {
    "uniform": lambda seed=1: tf.random_uniform_initializer(-2.0, 3.0, seed),
    "normal": lambda seed=1: tf.random_normal_initializer(1.0, 2.0, seed),
    "truncated": lambda seed=1: tf.truncated_normal_initializer(1.0, 2.0, seed),
    "scaling": lambda seed=1: tf.variance_scaling_initializer(seed=seed),
    "glorot": lambda seed=1: tf.glorot_uniform_initializer(seed),
    "glorot normal": lambda seed=1: tf.glorot_normal_initializer(seed),
}
EACH = pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM.keys())


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor)


def test_constants():
    assert value(tf.zeros_initializer()([2, 2])).tolist() == [[0, 0], [0, 0]]
    assert value(tf.ones_initializer()([2])).tolist() == [1, 1]
    assert value(tf.constant_initializer(3)([2])).tolist() == [3, 3]
    assert value(tf.constant_initializer([1, 2, 3, 4])([2, 2])).tolist() == [[1, 2], [3, 4]]
    assert value(tf.constant_initializer([1, 2])([3])).tolist() == [1, 2, 2]
    with pytest.raises(TypeError, match="shape"):
        tf.constant_initializer([1, 2], verify_shape=True)([3])
    with pytest.raises(ValueError, match="Too many elements"):
        tf.constant_initializer([1, 2, 3])([2])


def test_dtypes():
    for make in (tf.zeros_initializer, tf.ones_initializer, tf.constant_initializer):
        assert make()([2]).dtype is tf.float32
        assert make(dtype=tf.int64)([2]).dtype is tf.int64
        assert make(dtype=tf.int64)([2], tf.float64).dtype is tf.float64
        assert make()([2], dtype="int32").dtype is tf.int32
    assert value(tf.zeros_initializer(tf.string)([1])).tolist() == [b""]
    assert value(tf.ones_initializer(tf.bool)([1])).tolist() == [True]
    assert tf.random_uniform_initializer(0, 9, dtype=tf.int32)([2]).dtype is tf.int32


@EACH
def test_random_shape_and_dtype(make):
    for shape in ([], [3], [2, 3], [2, 3, 4], tf.TensorShape([2, 3])):
        numbers = make()(shape)
        assert numbers.shape.as_list() == tf.TensorShape(shape).as_list()
        assert numbers.dtype is tf.float32
        assert value(numbers).shape == tuple(numbers.shape.as_list())
    assert make()([2], tf.float64).dtype is tf.float64


@EACH
def test_seeds(make):
    first, again, other = (make(seed)([50]) for seed in (1, 1, 2))
    a, b, c = value([first, again, other])
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


@EACH
def test_without_a_seed_each_is_another(make):
    a, b = value([make(None)([50]), make(None)([50])])
    assert not np.array_equal(a, b)


def spread(initializer, shape):
    """Mean, standard deviation and largest deviation of many numbers."""
    numbers = value(initializer(shape)).astype(np.float64)
    return numbers.mean(), numbers.std(), abs(numbers - numbers.mean()).max()


def test_uniform_and_normal():
    mean, deviation, most = spread(RANDOM["uniform"](), [100_000])
    assert (mean, deviation) == (pytest.approx(0.5, abs=0.03), pytest.approx(5 / 12**0.5, rel=0.02))
    assert most < 2.55
    mean, deviation, most = spread(RANDOM["normal"](), [100_000])
    assert (mean, deviation) == (pytest.approx(1, abs=0.03), pytest.approx(2, rel=0.02))
    assert most > 6
    mean, deviation, most = spread(RANDOM["truncated"](), [100_000])
    assert (mean, deviation) == (pytest.approx(1, abs=0.03), pytest.approx(2 * 0.8796, rel=0.02))
    assert most < 4.05


@pytest.mark.parametrize(
    ("shape", "fan_in", "fan_out"),
    [
        ([100, 400], 100, 400),
        ([40_000], 40_000, 40_000),
        ([3, 3, 50, 100], 450, 900),
        ([5, 40, 200], 200, 1000),
    ],
)
@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "fan_avg"])
def test_variance_scaling(shape, fan_in, fan_out, mode):
    count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
    deviation = (2.0 / count) ** 0.5
    for distribution, most in [
        ("truncated_normal", 2 / 0.8796),
        ("normal", 2 / 0.8796),
        ("untruncated_normal", 6),
        ("uniform", 3**0.5),
    ]:
        make = tf.variance_scaling_initializer(2.0, mode, distribution, seed=3)
        mean, result, largest = spread(make, shape)
        assert abs(mean) < 0.03 * deviation
        assert result == pytest.approx(deviation, rel=0.02)
        assert largest < most * deviation * 1.02


def test_named_scalings():
    shape = [200, 600]
    for make, variance, most in [
        (tf.glorot_uniform_initializer, 1 / 400, 3**0.5),
        (tf.glorot_normal_initializer, 1 / 400, 2 / 0.8796),
        (tf.initializers.he_normal, 2 / 200, 2 / 0.8796),
        (tf.initializers.he_uniform, 2 / 200, 3**0.5),
        (tf.initializers.lecun_normal, 1 / 200, 2 / 0.8796),
        (tf.initializers.lecun_uniform, 1 / 200, 3**0.5),
    ]:
        _, deviation, largest = spread(make(seed=1), shape)
        assert deviation == pytest.approx(variance**0.5, rel=0.02)
        assert largest == pytest.approx(most * variance**0.5, rel=0.02)


def test_a_part_is_scaled_as_the_whole():
    make = tf.variance_scaling_initializer(distribution="untruncated_normal", seed=1)
    part = make([10, 5000], partition_info=SimpleNamespace(full_shape=[1000, 5000]))
    assert value(part).std() == pytest.approx(1000**-0.5, rel=0.02)


def test_a_scalar_has_one_input():
    assert abs(value(tf.glorot_uniform_initializer(1)([]))) < 3**0.5


def test_as_a_variable_starts():
    v = tf.Variable(lambda: tf.glorot_uniform_initializer(1)([3, 4]), name="v")
    assert v.initial_value.op.name.startswith("v/Initializer/random_uniform")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(v)
        assert (first == session.run(v)).all()
        assert (abs(first) < (6 / 7) ** 0.5).all()


def test_misuse():
    for error, match, call in [
        (ValueError, "positive", lambda: tf.variance_scaling_initializer(0.0)),
        (ValueError, "'fan'", lambda: tf.variance_scaling_initializer(mode="fan")),
        (ValueError, "'odd'", lambda: tf.variance_scaling_initializer(distribution="odd")),
        (ValueError, "floating point", lambda: tf.random_normal_initializer(dtype=tf.int32)),
        (ValueError, "floating point", lambda: tf.glorot_uniform_initializer()([2], tf.int32)),
        (ValueError, "fully defined", lambda: tf.glorot_uniform_initializer()([None, 2])),
        (ValueError, "rank|unknown", lambda: tf.glorot_uniform_initializer()(None)),
        (TypeError, "DType", lambda: tf.zeros_initializer("nope")),
        (NotImplementedError, "has no _make", lambda: tf.initializers.Initializer()([2])),
    ]:
        with pytest.raises(error, match=match):
            call()


OF_TENSORFLOW = {
    "random_uniform": [-0.19782424, -0.246322155, -0.381414413, -0.823848724, 0.492114544],
    "random_normal": [0.944703817, -0.966790676, 0.805171669, 1.303316, 0.214904547],
    "truncated_normal": [0.944703817, -0.966790676, 0.805171669, 1.303316, -0.218780369],
    "variance_scaling": [0.844968796, -0.864723861, 0.720167398, 1.1657213, 0.192216471],
    "glorot_uniform": [-0.21670562, -0.269832432, -0.417818546, -0.902481079, 0.539084435],
    "glorot_normal": [0.679247081, -0.695127666, 0.578922749, 0.937091172, -0.157304257],
    "he_normal": [0.87690419, -0.897405922, 0.747386038, 1.2097795, -0.203078911],
    "he_uniform": [-0.279765725, -0.348352075, -0.539401412, -1.16509807, 0.695955157],
    "lecun_normal": [0.620064914, -0.634561837, 0.528481722, 0.855443299, -0.143598482],
    "lecun_uniform": [-0.19782424, -0.246322155, -0.381414413, -0.823848724, 0.492114544],
    "uniform_unit_scaling": [-0.19782424, -0.246322155, -0.381414413, -0.823848724, 0.492114544],
}
"""The results of TensorFlow 2.21 for graph seed 7 and seed 3: the first of shape [3, 2]."""

SETTINGS = {
    "random_uniform": {"minval": -1, "maxval": 1},
    "variance_scaling": {"scale": 2.0, "mode": "fan_avg", "distribution": "untruncated_normal"},
}


@pytest.mark.parametrize("name", OF_TENSORFLOW)
def test_values_are_tensorflows(name):
    tf.set_random_seed(7)
    numbers = getattr(tf.initializers, name)(seed=3, **SETTINGS.get(name, {}))([3, 2])
    wanted = np.array(OF_TENSORFLOW[name], np.float32)
    np.testing.assert_array_max_ulp(value(numbers).reshape(-1)[:5], wanted, 4)


def test_identity():
    make = tf.initializers.identity(gain=2.0)
    assert value(make([2, 3])).tolist() == [[2, 0, 0], [0, 2, 0]]
    part = SimpleNamespace(full_shape=[4, 3], var_offset=[2, 0])
    assert value(make([2, 3], partition_info=part)).tolist() == [[0, 0, 2], [0, 0, 0]]
    assert make([2, 2], tf.float64).dtype is tf.float64
    with pytest.raises(ValueError, match="two dimensions"):
        make([2])


def test_unit_scaling():
    most = abs(value(tf.uniform_unit_scaling_initializer(2.0, seed=1)([50, 40, 30]))).max()
    assert most == pytest.approx(2 * (3 / 2000) ** 0.5, rel=0.01)


def test_orthogonal():
    tf.set_random_seed(7)
    tall, wide = (
        value(tf.orthogonal_initializer(gain, seed=3)(shape))
        for gain, shape in ((1.0, [3, 2]), (2.0, [2, 3]))
    )
    wanted = [[0.749918342, -0.535477281], [0.639155865, 0.737914205], [0.170594066, -0.410787851]]
    np.testing.assert_allclose(tall, wanted, rtol=1e-5)
    np.testing.assert_allclose(wide, 2 * tall.T, rtol=1e-5)
    deep = value(tf.orthogonal_initializer(dtype=tf.float64)([4, 5, 7])).reshape(20, 7)
    np.testing.assert_allclose(deep.T @ deep, np.eye(7), atol=1e-12)


def test_orthogonal_misuse():
    for shape, match in (([3], "two dimensions"), ([None, 2], "fully defined")):
        with pytest.raises(ValueError, match=match):
            tf.orthogonal_initializer()(shape)


def test_what_initializers_refuse():
    with tf.Graph().as_default():
        for value in (tf.constant(1.0), tf.Variable(1.0)):
            with pytest.raises(TypeError, match=r"^Invalid type for initial value: <class "):
                tf.constant_initializer(value)
    with pytest.raises(ValueError, match=r"^Expected floating point type"):
        tf.uniform_unit_scaling_initializer(dtype=tf.string)

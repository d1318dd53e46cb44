"""Random numbers are TensorFlow's: the results of TensorFlow 2.21's CPU kernels for these seeds.

Uniform numbers and integers to the bit, normal ones within a few units in the last place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf

# fmt: off
STREAMS = {
    ("uniform", "float16"): [
        [0.71191, 0.064453, 0.72656, 0.51562, 0.70117],
        [0.10254, 0.46777, 0.75586, 0.91113, 0.24023],
    ],
    ("uniform", "float32"): [
        [0.40108788, 0.376838923, 0.309292793, 0.0880756378, 0.746057272],
        [0.469128728, 0.190730929, 0.766205549, 0.0270887613, 0.872343779],
    ],
    ("uniform", "float64"): [
        [
            0.20870315912522175, 0.4743429181875207, 0.9684586142277478, 0.014147302814984108,
            0.3769711665674116,
        ],
        [
            0.7530301738357748, 0.12964455043354772, 0.9787506083248196, 0.402706005221914,
            0.15314850853364748,
        ],
    ],
    ("normal", "float16"): [
        [0.94482, -0.9668, 0.80518, 1.3037, 0.21484],
        [1.1465, 0.44775, 0.1236, 0.71924, -0.50781],
    ],
    ("normal", "float32"): [
        [0.944703817, -0.966790676, 0.805171669, 1.303316, 0.214904547],
        [1.1460166, 0.44766292, 0.123615973, 0.719255626, -0.507727861],
    ],
    ("normal", "float64"): [
        [
            0.2841397934847126, -1.7472690787243486, 0.022475391397604266, 0.2521783387351514,
            -1.3961891433687852,
        ],
        [
            0.5479013180101964, 0.516821155432663, 0.11895615902387005, -0.1697240481492145,
            1.5692703828095702,
        ],
    ],
    ("truncated_normal", "float16"): [
        [0.94482, -0.9668, 0.80518, 1.3037, -0.21875],
        [1.1465, 0.44775, 0.1236, 0.71924, -0.59424],
    ],
    ("truncated_normal", "float32"): [
        [0.944703817, -0.966790676, 0.805171669, 1.303316, -0.218780369],
        [1.1460166, 0.44766292, 0.123615973, 0.719255626, -0.594016373],
    ],
    ("truncated_normal", "float64"): [
        [
            0.2841397934847126, -1.7472690787243486, -0.8324516698354941, 1.1555486766159675,
            -0.7045877862978654,
        ],
        [
            0.5479013180101964, 0.516821155432663, 1.3966386480120754, -0.37126744653946325,
            0.7543576277735746,
        ],
    ],
}
"""Two runs of five numbers each, of graph seed 7 and op seed 3."""

STATELESS = {
    ("uniform", "float16"): [0.44531, 0.41309, 0.048828, 0.2793, 0.033203],
    ("uniform", "float32"): [0.19548893, 0.722706676, 0.885259867, 0.608310461, 0.848636866],
    ("uniform", "float64"): [
        0.5639122309586158, 0.08207911738811147, 0.7890958737475771, 0.7649151006344563,
        0.9053540288204636,
    ],
    ("normal", "float16"): [-1.7803, -0.30835, -0.31055, -0.38379, 0.35303],
    ("normal", "float32"): [-1.78029096, -0.308329165, -0.31064567, -0.383728206, 0.353144109],
    ("normal", "float64"): [
        0.5278684414155569, 0.9311649829545875, -0.6852638555127535, 0.06440771218121173,
        -0.32160845896159845,
    ],
    ("truncated_normal", "float16"): [-1.7803, -0.30835, -0.31055, -0.38379, -0.62939],
    ("truncated_normal", "float32"): [
        -1.78029096, -0.308329165, -0.31064567, -0.383728206, -0.629376233,
    ],
    ("truncated_normal", "float64"): [
        0.5278684414155569, 0.9311649829545875, 0.6150508715475489, -0.5830170806750747,
        1.3788612806836444,
    ],
}
INTS = {
    "int32": [[943, 58, 450, 838, 482], [683, 21, 372, 9, 170]],
    "int64": [[661, 348, 422, 692, 508], [799, 986, 500, 921, 543]],
}
# fmt: on

STATELESS_INTS = {"int32": [152, 753, 626, 612, 264], "int64": [340, 628, 612, 79, 188]}
SEED = [3, -4]
LOGITS = [[0.0, 1.0, 2.0], [2.0, 1.0, -np.inf]]
ULPS = 4


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(7)
        yield graph


def runs(tensor, count=2, config=None):
    with tf.Session(config=config) as session:
        return [session.run(tensor) for _ in range(count)]


def same(result, wanted, law):
    """To the bit, or near enough for normal numbers."""
    result = np.asarray(result)
    wanted = np.asarray(wanted, result.dtype)
    if law == "uniform":
        np.testing.assert_array_equal(result, wanted)
    else:
        np.testing.assert_array_max_ulp(result, wanted, ULPS)


@pytest.mark.parametrize(("law", "dtype"), STREAMS)
def test_streams(law, dtype):
    numbers = getattr(tf.random, law)([5], dtype=dtype, seed=3)
    same(runs(numbers), STREAMS[law, dtype], law)


@pytest.mark.parametrize("dtype", INTS)
def test_integers(dtype):
    same(runs(tf.random_uniform([5], -50, 1000, dtype, seed=3)), INTS[dtype], "uniform")


@pytest.mark.parametrize(("law", "dtype"), STATELESS)
def test_stateless_numbers(law, dtype):
    numbers = getattr(tf.random, f"stateless_{law}")([5], SEED, dtype=dtype)
    for result in runs(numbers):
        same(result, STATELESS[law, dtype], law)


@pytest.mark.parametrize("dtype", STATELESS_INTS)
def test_stateless_integers(dtype):
    numbers = tf.random.stateless_uniform([5], SEED, -50, 1000, dtype)
    assert runs(numbers, 1)[0].tolist() == STATELESS_INTS[dtype]


def test_orders():
    first, second, third = runs(tf.random_shuffle(np.arange(9), seed=3), 3)
    assert first.tolist() == [3, 0, 5, 1, 6, 2, 4, 7, 8]
    assert second.tolist() == [8, 1, 5, 0, 6, 4, 7, 2, 3]
    assert third.tolist() == [5, 7, 1, 2, 0, 6, 3, 8, 4]


def test_classes():
    first, second = runs(tf.random.categorical(LOGITS, 5, seed=3))
    assert first.tolist() == [[1, 2, 2, 0, 2], [1, 0, 1, 1, 0]]
    assert second.tolist() == [[1, 1, 2, 2, 1], [1, 1, 1, 0, 0]]
    (third,) = runs(tf.random.stateless_categorical(LOGITS, 5, SEED), 1)
    assert third.tolist() == [[2, 0, 2, 2, 2], [1, 0, 1, 0, 0]]


def test_parts():
    result = runs(tf.random_crop(np.arange(100), [1], seed=3), 4)
    assert [value.tolist() for value in result] == [[46], [1], [44], [46]]


def test_gamma():
    result = runs(tf.random_gamma([3], [0.5, 1.0, 3.0], beta=2.0, seed=3))
    wanted = [
        [
            [0.053525753, 0.083898216, 1.66761732],
            [0.592668533, 0.748954535, 3.3358469],
            [0.00280266441, 0.0694267973, 0.907994449],
        ],
        [
            [0.214570045, 0.314466447, 2.83325553],
            [0.0026975628, 1.21509826, 1.91227901],
            [0.00105556531, 0.237619504, 1.22211576],
        ],
    ]
    np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_poisson():
    first, second = runs(tf.random_poisson([0.5, 4.0, 40.0], [4], seed=3))
    assert first.tolist() == [[0, 4, 41], [1, 4, 40], [0, 2, 40], [0, 1, 36]]
    assert second.tolist() == [[0, 4, 27], [1, 5, 40], [0, 4, 45], [0, 4, 35]]


def test_float64_without_ml_dtypes():
    """To NumPy, float64 equals None, which stands for bfloat16 where ml_dtypes is not installed."""
    x = tf.random_uniform([6], dtype=tf.float64, seed=1)
    v = tf.get_variable("v", [3], tf.float64)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(x).dtype == session.run(v).dtype == np.float64

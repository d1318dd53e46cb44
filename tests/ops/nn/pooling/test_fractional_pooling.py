"""Pooling by ratios that are no whole numbers: TensorFlow's windows, values, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

IMAGES = np.random.default_rng(5).normal(size=(2, 11, 13, 2))
RATIO = [1.0, 1.44, 1.73, 1.0]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize(
    ("pseudo_random", "rows", "columns"),
    [
        (True, [0, 1, 3, 5, 6, 8, 9, 11], [0, 2, 4, 6, 8, 9, 11, 13]),
        (False, [0, 2, 4, 5, 6, 7, 9, 11], [0, 1, 3, 5, 7, 9, 11, 13]),
    ],
)
def test_equal_seeds_give_tensorflows_windows(pseudo_random, rows, columns):
    pooled = tf.nn.fractional_max_pool(
        IMAGES, RATIO, pseudo_random, deterministic=True, seed=7, seed2=9
    )
    assert pooled[0].shape.as_list() == [2, 7, 7, 2]
    values = run(list(pooled))
    assert values[1].tolist() == rows
    assert values[2].tolist() == columns


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize(
    ("pool", "reduce"), [(tf.nn.fractional_max_pool, np.max), (tf.nn.fractional_avg_pool, np.mean)]
)
def test_windows_are_reduced(pool, reduce, overlapping):
    output, rows, columns = run(list(pool(IMAGES, RATIO, overlapping=overlapping)))
    for i, j in np.ndindex(7, 7):
        down = slice(rows[i], rows[i + 1] + overlapping)
        window = IMAGES[:, down, columns[j] : columns[j + 1] + overlapping]
        np.testing.assert_allclose(output[:, i, j], reduce(window, (1, 2)), rtol=1e-12)


def test_whole_numbers_are_rounded_towards_zero():
    images = np.array([[-3, 0], [-4, 0]]).reshape(1, 2, 2, 1)
    output = tf.nn.fractional_avg_pool(tf.constant(images, tf.int32), [1, 2.0, 2.0, 1])[0]
    assert run(output).tolist() == [[[[-1]]]]


def test_deterministic_windows_stay():
    fixed = tf.nn.fractional_max_pool(IMAGES, RATIO, deterministic=True)[1]
    with tf.Session() as session:
        assert len({tuple(session.run(fixed)) for _ in range(5)}) == 1


def test_gradients_go_to_the_largest_or_are_shared():
    x = tf.constant(IMAGES)
    largest, mean = (
        pool(x, RATIO, seed=3, seed2=4)[0]
        for pool in (tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool)
    )
    slopes = run([tf.gradients(y, x)[0] for y in (largest, mean)])
    assert sorted(set(slopes[0].ravel())) == [0.0, 1.0]
    np.testing.assert_allclose([slope.sum() for slope in slopes], 2 * 7 * 7 * 2)


def test_ratios_below_one_and_of_channels_are_refused():
    with pytest.raises(ValueError, match=r"pooling_ratio cannot be smaller than 1, got: 0\.5"):
        tf.nn.fractional_max_pool(IMAGES, [1, 0.5, 1, 1])
    with pytest.raises(ValueError, match="not yet supported on the batch nor channel dimension"):
        tf.nn.fractional_avg_pool(IMAGES, [1, 1, 1, 2])
    with pytest.raises(ValueError, match="passed list of length 2 less than minimum 4"):
        tf.nn.fractional_avg_pool(IMAGES, [1, 1])


FITTING = {
    "orig_input": np.ones((1, 4, 4, 1)),
    "orig_output": np.ones((1, 2, 2, 1)),
    "out_backprop": np.ones((1, 2, 2, 1)),
    "row_pooling_sequence": np.array([0, 2, 4]),
    "col_pooling_sequence": np.array([0, 2, 4]),
}
UNFIT = [
    ("orig_output", np.ones((2, 2, 1))),
    ("out_backprop", np.ones((2, 2, 1))),
    ("out_backprop", np.ones((1, 3, 2, 1))),
    ("row_pooling_sequence", np.array(4)),
    ("col_pooling_sequence", np.array([[0, 2, 4]])),
    ("col_pooling_sequence", np.array([0, 1, 2, 4])),
    ("row_pooling_sequence", np.array([0, 2, 9])),
    ("row_pooling_sequence", np.array([-1, 2, 4])),
    ("orig_input", np.ones((4, 4, 1))),
]


def gradient_of(op_type, given):
    if op_type == "FractionalAvgPoolGrad":
        given = {name: value for name, value in given.items() if not name.startswith("orig")} | {
            "orig_input_tensor_shape": given["orig_input_tensor_shape"]
        }
    else:
        del given["orig_input_tensor_shape"]
    return getattr(tf.raw_ops, op_type)(**given)


@pytest.mark.parametrize(
    ("op_type", "name", "value"),
    [
        *(("FractionalMaxPoolGrad", *unfit) for unfit in UNFIT),
        *(("FractionalAvgPoolGrad", *unfit) for unfit in UNFIT[1:]),
    ],
)
def test_gradients_of_unfit_inputs_are_refused_in_the_run(op_type, name, value):
    values = FITTING | {name: value}
    values["orig_input_tensor_shape"] = np.array(values["orig_input"].shape)
    fed = {key: tf.placeholder(tf.as_dtype(array.dtype)) for key, array in values.items()}
    gradient = gradient_of(op_type, dict(fed))
    assert gradient.shape.rank == 4
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"must|has"):
        session.run(gradient, {fed[key]: array for key, array in values.items()})


def test_images_of_another_rank_are_refused_while_the_graph_is_built():
    given = FITTING | {"orig_input": np.ones((4, 4, 1)), "orig_input_tensor_shape": None}
    with pytest.raises(ValueError, match="Shape must be rank 4 but is rank 3"):
        gradient_of("FractionalMaxPoolGrad", given)

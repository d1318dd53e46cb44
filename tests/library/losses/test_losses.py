"""Losses agree with NumPy, and are weighted, reduced and collected as in TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

R = tf.losses.Reduction
LABELS = np.array([[0.1, 0.9, 0.4], [0.8, 0.3, 0.2]], np.float32)
FOUND = np.array([[0.7, 0.2, 0.6], [0.5, 0.4, 0.9]], np.float32)
D = FOUND - LABELS


def value(tensor, feeds=None):
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor, feeds)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as default:
        yield default


def huber(delta):
    distance = np.abs(D)
    near = np.minimum(distance, delta)
    return 0.5 * near**2 + delta * (distance - near)


def entropy(labels, logits):
    return np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


ELEMENTWISE = {
    "absolute_difference": ({}, np.abs(D)),
    "mean_squared_error": ({}, D**2),
    "huber_loss": ({"delta": 0.35}, huber(0.35)),
    "log_loss": ({}, -LABELS * np.log(FOUND) - (1 - LABELS) * np.log(1 - FOUND)),
    "hinge_loss": ({}, np.maximum(0, 1 - (2 * LABELS - 1) * FOUND)),
    "cosine_distance": ({"axis": 1}, 1 - (LABELS * FOUND).sum(1, keepdims=True)),
    "sigmoid_cross_entropy": ({}, entropy(LABELS, FOUND)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_each_loss_of_elements(name):
    settings, wanted = ELEMENTWISE[name]
    function = getattr(tf.losses, name)
    loss = function(LABELS, FOUND, reduction=R.NONE, **settings)
    np.testing.assert_allclose(value(loss), wanted, 1e-5, 1e-6)
    weights = np.array([[2.0], [0.0]], np.float32)
    weighted = function(LABELS, FOUND, weights=weights, **settings)
    present = wanted[:1].size
    np.testing.assert_allclose(value(weighted), 2 * wanted[0].sum() / present, 1e-5)
    assert tf.losses.get_losses() == [loss, weighted]


@pytest.mark.parametrize(
    ("reduction", "wanted"),
    [
        (R.NONE, D**2 * [[2.0], [0.5]]),
        (R.SUM, (D**2 * [[2.0], [0.5]]).sum()),
        (R.MEAN, (D**2 * [[2.0], [0.5]]).sum() / 7.5),
        (R.SUM_OVER_BATCH_SIZE, (D**2 * [[2.0], [0.5]]).mean()),
        (R.SUM_BY_NONZERO_WEIGHTS, (D**2 * [[2.0], [0.5]]).mean()),
    ],
)
def test_reductions(reduction, wanted):
    weights = tf.placeholder(tf.float32, None)
    loss = tf.losses.mean_squared_error(LABELS, FOUND, weights, reduction=reduction)
    actual = value(loss, {weights: [[2.0], [0.5]]})
    np.testing.assert_allclose(actual, wanted, 1e-5)


def test_only_elements_with_a_weight_count():
    weights = np.array([[1, 0, 0], [3, 0, 1]], np.float32)
    actual = value(tf.losses.mean_squared_error(LABELS, FOUND, weights))
    np.testing.assert_allclose(actual, (D**2 * weights).sum() / 3, 1e-5)
    assert value(tf.losses.mean_squared_error(LABELS, FOUND, 0.0)) == 0


def test_pairwise_differences():
    actual = value(tf.losses.mean_pairwise_squared_error(LABELS, FOUND, [[1.0], [2.0]]))
    total = 0.0
    for row, weight in zip(D, (1, 2), strict=True):
        pairs = [(a - b) ** 2 for i, a in enumerate(row) for b in row[i + 1 :]]
        total += weight * np.mean(pairs)
    np.testing.assert_allclose(actual, total, 1e-5)


def test_softmax_cross_entropies():
    classes = np.array([2, 0])
    onehot = np.eye(3, dtype=np.float32)[classes]
    wanted = -log_softmax(FOUND)[[0, 1], classes]
    dense = tf.losses.softmax_cross_entropy(onehot, FOUND, reduction=R.NONE)
    np.testing.assert_allclose(value(dense), wanted, 1e-5)
    smooth = tf.losses.softmax_cross_entropy(onehot, FOUND, label_smoothing=0.3, reduction=R.NONE)
    spread = onehot * 0.7 + 0.1
    np.testing.assert_allclose(value(smooth), -(spread * log_softmax(FOUND)).sum(1), 1e-5)
    for labels, weights in ((classes, [1.0, 3.0]), (classes[:, None], [[1.0], [3.0]])):
        sparse = tf.losses.sparse_softmax_cross_entropy(labels, FOUND, weights)
        np.testing.assert_allclose(value(sparse), (wanted * [1, 3]).mean(), 1e-5)


def test_smoothed_sigmoid_labels():
    loss = tf.losses.sigmoid_cross_entropy(LABELS, FOUND, label_smoothing=0.2)
    wanted = entropy(LABELS * 0.8 + 0.1, FOUND).mean()
    np.testing.assert_allclose(value(loss), wanted, 1e-5)


def test_float16_comes_back_and_ints_become_floats():
    half = tf.losses.compute_weighted_loss(tf.ones([2], tf.float16))
    assert half.dtype == tf.float16
    assert value(tf.losses.mean_squared_error([1, 2], [3, 5])) == 6.5


def test_names_and_collections(graph):
    a, b = (tf.placeholder(tf.float32, [2, 3]) for _ in range(2))
    loss = tf.losses.mean_squared_error(a, b)
    again = tf.losses.mean_squared_error(a, b, scope="mine", loss_collection="others")
    assert (loss.name, again.name) == ("mean_squared_error/value:0", "mine/value:0")
    names = {op.name for op in graph.get_operations()}
    assert "mean_squared_error/num_present/broadcast_weights" in names
    assert "mean_squared_error/assert_broadcastable/static_scalar_check_success" in names
    assert tf.losses.get_losses() == [loss]
    assert tf.losses.get_losses(loss_collection="others") == [again]
    assert tf.losses.mean_squared_error(a, b, loss_collection=None) is not None
    assert tf.losses.get_losses(scope="mine") == []


def test_totals():
    assert value(tf.losses.get_regularization_loss()) == 0
    with pytest.raises(ValueError):
        tf.losses.get_total_loss()
    tf.losses.add_loss(tf.constant(3.0, name="a"))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(4.0, name="b"))
    assert value(tf.losses.get_total_loss()) == 7
    assert value(tf.losses.get_total_loss(add_regularization_losses=False)) == 3
    assert value(tf.losses.get_total_loss(scope="b")) == 4
    assert value(tf.losses.get_regularization_loss()) == 4
    assert [loss.op.name for loss in tf.losses.get_regularization_losses()] == ["b"]


def test_gradients_reach_predictions_and_not_softmax_labels():
    labels, logits = tf.constant([[0.0, 1.0]]), tf.constant([[0.3, 0.1]])
    loss = tf.losses.softmax_cross_entropy(labels, logits)
    by_logits, by_labels = tf.gradients(loss, [logits, labels])
    assert by_labels is None
    softmax = np.exp([0.3, 0.1]) / np.exp([0.3, 0.1]).sum()
    np.testing.assert_allclose(value(by_logits), [softmax - [0, 1]], 1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, FOUND), "labels must not be None"),
        ((LABELS, None), "predictions must not be None"),
        ((LABELS, FOUND[:1]), "incompatible"),
        ((LABELS, FOUND, [1.0, 2.0]), "weights can not be broadcast to values.*rank"),
        ((LABELS, FOUND, [[1.0, 2.0]]), "Mismatch at dim 1"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.losses.absolute_difference(*arguments)


def test_unknown_reductions_and_missing_axes_are_refused():
    with pytest.raises(ValueError, match="Invalid Reduction Key most"):
        tf.losses.mean_squared_error(LABELS, FOUND, reduction="most")
    with pytest.raises(ValueError, match="specify 'axis'"):
        tf.losses.cosine_distance(LABELS, FOUND)


def test_weights_of_unknown_shape_are_checked_in_the_run():
    predictions = tf.placeholder(tf.float32, [None, 3])
    weights = tf.placeholder(tf.float32, None)
    loss = tf.losses.absolute_difference(tf.zeros_like(predictions), predictions, weights)
    with tf.Session() as session:
        assert session.run(loss, {predictions: np.ones((2, 3)), weights: 2.0}) == 2
        assert session.run(loss, {predictions: np.ones((2, 3)), weights: [[1.0], [0.0]]}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(loss, {predictions: np.ones((2, 3)), weights: [1.0, 1.0, 1.0]})


@pytest.mark.parametrize(
    "name",
    [
        *("absolute_difference", "hinge_loss", "huber_loss", "log_loss", "mean_squared_error"),
        *("sigmoid_cross_entropy", "softmax_cross_entropy", "mean_pairwise_squared_error"),
    ],
)
@pytest.mark.parametrize("sizes", [(4, 5, 6), (3, 3)])
def test_weights_that_do_not_fit_in_a_run_are_refused_first(name, sizes):
    with tf.Graph().as_default(), tf.Session() as session:
        values, weights = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        loss = getattr(tf.losses, name)(values, values, weights=weights)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"
        ):
            session.run(loss, {values: np.ones((2, 3)), weights: np.ones(sizes)})
        assert np.isfinite(session.run(loss, {values: np.ones((2, 3)), weights: 1.0}))

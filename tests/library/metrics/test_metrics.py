"""Metrics over two batches agree with NumPy's over both together."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

LABELS = np.array([1, 0, 1, 1, 0, 0, 1, 0])
SCORES = np.array([0.9, 0.6, 0.3, 0.8, 0.1, 0.4, 0.55, 0.7], np.float32)
WEIGHTS = np.array([1, 2, 0.25, 1, 0, 0.5, 1, 2], np.float32)
FOUND = (SCORES > 0.5).astype(int)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as default:
        yield default


class Batches:
    """Runs a metric on the first five examples, then on the others."""

    def __init__(
        self, metric, *others, scores=True, weighted=False, float_labels=False, **settings
    ):
        labels = tf.placeholder(tf.float32 if float_labels else tf.int64, [None])
        predictions = tf.placeholder(tf.float32 if scores or float_labels else tf.int64, [None])
        weights = tf.placeholder(tf.float32, [None])
        if weighted:
            settings["weights"] = weights
        self.value, self.update = metric(labels, predictions, *others, **settings)
        data = SCORES if scores else FOUND
        self.results = []
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            for part in (slice(0, 5), slice(5, None)):
                feeds = {
                    labels: LABELS[part], predictions: data[part], weights: WEIGHTS[part]
                }  # fmt: skip
                updated = session.run(self.update, feeds)
                self.results.append(session.run(self.value))
                self.updated = updated
            assert (session.run(self.value) == self.results[-1]).all()

    @property
    def last(self):
        return self.results[-1]


def count(label, prediction, weights=None):
    hits = (label == LABELS) & (prediction == FOUND)
    return (hits * (1 if weights is None else weights)).sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("accuracy", lambda w: np.average(LABELS == FOUND, weights=w)),
        ("mean_absolute_error", lambda w: np.average(abs(LABELS - FOUND), weights=w)),
        ("mean_squared_error", lambda w: np.average((LABELS - FOUND) ** 2, weights=w)),
        (
            "root_mean_squared_error",
            lambda w: np.sqrt(np.average((LABELS - FOUND) ** 2, weights=w)),
        ),
        ("true_positives", lambda w: count(1, 1, w)),
        ("true_negatives", lambda w: count(0, 0, w)),
        ("false_positives", lambda w: count(0, 1, w)),
        ("false_negatives", lambda w: count(1, 0, w)),
        ("precision", lambda w: count(1, 1, w) / (count(1, 1, w) + count(0, 1, w))),
        ("recall", lambda w: count(1, 1, w) / (count(1, 1, w) + count(1, 0, w))),
    ],
)
def test_metrics_of_labels(name, wanted, weighted):
    actual = Batches(getattr(tf.metrics, name), scores=False, weighted=weighted, float_labels=True)
    weights = WEIGHTS if weighted else None
    np.testing.assert_allclose(actual.last, wanted(weights), 1e-6)
    np.testing.assert_allclose(actual.updated, wanted(weights), 1e-6)
    assert actual.results[0] != actual.results[1] or name.startswith(("true", "false"))


def rates(thresholds, weights):
    above = SCORES[None] > np.array(thresholds)[:, None]
    positive, w = LABELS == 1, np.ones(8) if weights is None else weights
    return {
        "true_positives": (above & positive) @ w,
        "false_positives": (above & ~positive) @ w,
        "true_negatives": (~above & ~positive) @ w,
        "false_negatives": (~above & positive) @ w,
    }


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_at_thresholds(weighted):
    thresholds = [0.2, 0.5, 0.85]
    counts = rates(thresholds, WEIGHTS if weighted else None)
    for name, wanted in counts.items():
        metric = getattr(tf.metrics, f"{name}_at_thresholds")
        np.testing.assert_allclose(
            Batches(metric, thresholds, weighted=weighted).last, wanted, 1e-6
        )
    tp = counts["true_positives"]
    for name, wrong in (("precision", "false_positives"), ("recall", "false_negatives")):
        metric = getattr(tf.metrics, f"{name}_at_thresholds")
        actual = Batches(metric, thresholds, weighted=weighted)
        np.testing.assert_allclose(actual.last, tp / (tp + counts[wrong]), 1e-5)
        np.testing.assert_allclose(actual.updated, actual.last)


@pytest.mark.parametrize("weighted", [False, True])
def test_area_under_roc_is_the_chance_to_be_ranked_right(weighted):
    actual = Batches(tf.metrics.auc, weighted=weighted, num_thresholds=1000)
    w = WEIGHTS if weighted else np.ones(8)
    pairs = np.outer(w * (LABELS == 1), w * (LABELS == 0))
    right = (pairs * (SCORES[:, None] > SCORES[None])).sum() / pairs.sum()
    np.testing.assert_allclose(actual.last, right, 1e-4)


def test_ways_to_add_up_precision_over_recall():
    def area(method):
        settings = {"curve": "PR", "summation_method": method, "num_thresholds": 50}
        return float(Batches(tf.metrics.auc, **settings).last)

    below, middle, above = (area(name) for name in ("minoring", "trapezoidal", "majoring"))
    assert below < middle < above
    careful = area("careful_interpolation")
    order = np.argsort(-SCORES)
    right = np.cumsum(LABELS[order])
    average = (right / np.arange(1, 9) * LABELS[order]).sum() / LABELS.sum()
    assert abs(careful - average) < 0.1
    assert below < careful < above


def test_thresholds_of_a_curve_may_be_given():
    even = [number / 99 for number in range(1, 99)]
    one = Batches(tf.metrics.auc, num_thresholds=100).last
    other = Batches(tf.metrics.auc, thresholds=even[::-1]).last
    np.testing.assert_allclose(one, other, 1e-6)


def test_points_of_a_curve():
    counts = rates(np.linspace(0, 1, 200), None)
    specificity = counts["true_negatives"] / 4
    sensitivity = counts["true_positives"] / 4
    actual = Batches(tf.metrics.sensitivity_at_specificity, 0.75)
    index = np.abs(specificity - 0.75).argmin()
    np.testing.assert_allclose(actual.last, sensitivity[index], 1e-5)
    actual = Batches(tf.metrics.specificity_at_sensitivity, 0.75)
    nearest = np.abs(sensitivity - 0.75)
    index = np.flatnonzero(nearest == nearest.min())[-1]
    np.testing.assert_allclose(actual.last, specificity[index], 1e-5)


def test_classes():
    actual = Batches(tf.metrics.mean_per_class_accuracy, 2, scores=False)
    value = [(FOUND == LABELS)[label == LABELS].mean() for label in (0, 1)]
    np.testing.assert_allclose(actual.last, np.mean(value), 1e-6)
    np.testing.assert_allclose(actual.updated, value, 1e-6)
    actual = Batches(tf.metrics.mean_iou, 3, scores=False)
    both = [
        ((k == LABELS) & (k == FOUND)).sum() / ((k == LABELS) | (k == FOUND)).sum() for k in (0, 1)
    ]
    np.testing.assert_allclose(actual.last, np.mean(both), 1e-6)
    assert actual.updated[:2, :2].tolist() == [
        [count(0, 0), count(0, 1)],
        [count(1, 0), count(1, 1)],
    ]
    weighed = Batches(tf.metrics.mean_iou, 2, scores=False, weighted=True)
    assert weighed.updated[0, 1] == count(0, 1, WEIGHTS)


PREDICTIONS = np.array([[0.1, 0.5, 0.3, 0.2], [0.7, 0.1, 0.6, 0.4]], np.float32)


@pytest.mark.parametrize(
    ("metric", "labels", "settings", "wanted"),
    [
        ("recall_at_k", [[1], [3]], {}, 1 / 2),
        ("recall_at_k", [1, 3], {}, 1 / 2),
        ("recall_at_k", [[1, 0], [2, 0]], {}, 3 / 4),
        ("recall_at_k", [[1, 0], [2, 0]], {"class_id": 0}, 1 / 2),
        ("recall_at_k", [[1], [3]], {"weights": [3.0, 1.0]}, 3 / 4),
        ("precision_at_k", [[1], [3]], {}, 1 / 4),
        ("precision_at_k", [[1, 2], [2, 0]], {}, 1),
        ("precision_at_k", [[1, 2], [3, 0]], {"class_id": 2}, 1 / 2),
    ],
)
def test_labels_among_the_two_largest(metric, labels, settings, wanted):
    value, update = getattr(tf.metrics, metric)(
        tf.constant(labels, tf.int64), PREDICTIONS, 2, **settings
    )
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert np.isnan(session.run(value))
        assert session.run(update) == pytest.approx(wanted)
        assert session.run(value) == pytest.approx(wanted)


SPARSE = tf.SparseTensorValue([[0, 0], [1, 0], [1, 1]], np.int64([1, 0, 2]), [2, 2])
CHOSEN = [[1, 2], [0, 2]]


def updated(pair):
    """Return the update's result, which is the value after it too, and the value before."""
    value, update = pair
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        before, actual = session.run(value), session.run(update)
        assert session.run(value) == pytest.approx(actual)
    return before, actual


@pytest.mark.parametrize(
    ("labels", "settings", "wanted"),
    [
        ([[1, -1], [0, 3]], {}, (1 + (1 + 2 / 3) / 2) / 2),
        ([[1], [3]], {}, (1 + 1 / 3) / 2),
        ([1, 3], {}, (1 + 1 / 3) / 2),
        ([[0], [3]], {}, (0 + 1 / 3) / 2),
        ([[1], [3]], {"weights": [3.0, 1.0]}, (3 + 1 / 3) / 4),
        (SPARSE, {}, (1 + (1 + 2 / 2) / 2) / 2),
    ],
)
def test_precision_is_averaged_over_ranks(labels, settings, wanted):
    pair = tf.metrics.average_precision_at_k(labels, PREDICTIONS, 3, **settings)
    assert updated(pair) == (0, pytest.approx(wanted))
    assert pair[0].op.name.startswith("average_precision_at_3/")


@pytest.mark.parametrize(
    ("metric", "settings", "wanted"),
    [
        ("recall_at_top_k", {}, 3 / 3),
        ("recall_at_top_k", {"class_id": 2}, 1),
        ("precision_at_top_k", {"k": 2}, 3 / 4),
        ("precision_at_top_k", {"class_id": 2}, 1 / 2),
    ],
)
def test_labels_among_chosen_classes(metric, settings, wanted):
    pair = getattr(tf.metrics, metric)(SPARSE, tf.constant(CHOSEN, tf.int64), **settings)
    before, actual = updated(pair)
    assert np.isnan(before)
    assert actual == pytest.approx(wanted)


def test_sparse_labels_count_only_where_they_are():
    assert updated(tf.metrics.recall_at_k(SPARSE, PREDICTIONS, 1))[1] == pytest.approx(2 / 3)
    assert tf.metrics.sparse_precision_at_k is tf.metrics.precision_at_k


def test_means():
    x = tf.placeholder(tf.float32, [None, 2])
    plain = tf.metrics.mean(x)
    weighed = tf.metrics.mean(x, weights=[[1.0], [3.0]])
    below = tf.metrics.percentage_below(x, 3.0)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(plain[0]) == 0
        actual = session.run([value[1] for value in (plain, weighed, below)], {x: [[1, 2], [3, 6]]})
        np.testing.assert_allclose(actual, [3, 30 / 8, 0.5])
        assert session.run(plain[1], {x: [[8, 8]]}) == pytest.approx(28 / 6)


def test_means_of_elements_and_of_errors_by_something():
    x = tf.placeholder(tf.float32, [2])
    value, update = tf.metrics.mean_tensor(x, weights=[1.0, 0.0])
    relative, compared = tf.metrics.mean_relative_error([2.0, 4.0], [1.0, 1.0], [2.0, 0.0])
    a, b = [[1.0, 0.0], [0.6, 0.8]], [[0.6, 0.8], [0.6, 0.8]]
    cosine, turned = tf.metrics.mean_cosine_distance(a, b, 1)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run([update, compared, turned], {x: [2, 5]})
        assert session.run(update, {x: [4, 5]}).tolist() == [3, 0]
        actual = session.run([value, relative, cosine])
        assert actual[0].tolist() == [3, 0]
        np.testing.assert_allclose(actual[1:], [0.25, 0.2], 1e-6)


def test_names_and_collections():
    value, update = tf.metrics.accuracy(
        [1, 2], [1, 3], metrics_collections="m", updates_collections=["u", "v"]
    )
    tf.metrics.accuracy([1, 2], [1, 3])
    tf.metrics.precision([1], [1], name="mine")
    names = [variable.name for variable in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)]
    assert names == [
        *(
            f"{scope}/{name}:0"
            for scope in ("accuracy", "accuracy_1")
            for name in ("total", "count")
        ),
        "mine/true_positives/count:0",
        "mine/false_positives/count:0",
    ]
    assert names == [variable.name for variable in tf.local_variables()]
    assert tf.global_variables() == []
    assert (value.name, update.name) == ("accuracy/value:0", "accuracy/update_op:0")
    assert tf.get_collection("m") == [value]
    assert tf.get_collection("u") == tf.get_collection("v") == [update]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="incompatible"):
        tf.metrics.accuracy([0, 1], [1, 2, 3])
    with pytest.raises(ValueError, match="curve must be either ROC or PR"):
        tf.metrics.auc([0, 1], [0.5, 0.5], curve="X")
    with pytest.raises(ValueError, match="Invalid summation_method"):
        tf.metrics.auc([0, 1], [0.5, 0.5], summation_method="X")
    with pytest.raises(ValueError, match="specificity"):
        tf.metrics.sensitivity_at_specificity([0, 1], [0.5, 0.5], 1.5)
    _, update = tf.metrics.auc([0, 1], [0.5, 1.5])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be in"):
            session.run(update)


# -- ranks one off


@pytest.mark.parametrize("weights", [[1.0, 1.0, 2.0], [[1.0], [1.0], [2.0]], 2.0])
def test_weights_of_unknown_rank_are_squeezed(weights):
    fed = tf.placeholder(tf.float32)
    _, update = tf.metrics.accuracy(tf.constant([1, 2, 3]), tf.constant([1, 2, 0]), weights=fed)
    loss = tf.losses.sparse_softmax_cross_entropy([1, 2, 3], tf.eye(3, 4), weights=fed)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        accuracy, value = session.run([update, loss], {fed: weights})
        known = tf.losses.sparse_softmax_cross_entropy(
            [1, 2, 3], tf.eye(3, 4), weights=np.ravel(weights) if np.ndim(weights) else weights
        )
        assert value == session.run(known)
    assert accuracy == np.float32(2 / 3 if np.ndim(weights) == 0 else 0.5)


def test_weights_that_lack_a_dimension_gain_it():
    ones = tf.ones([4, 5])
    _, mean = tf.metrics.mean(ones, weights=tf.constant([1.0, 2.0, 3.0, 4.0]))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(mean) == 1.0


def test_labels_and_predictions_of_unknown_rank():
    labels, predictions = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    _, update = tf.metrics.accuracy(labels, predictions)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for fed in (([[1], [2], [3]], [1, 2, 0]), ([1, 2, 3], [[1], [2], [0]])):
            assert session.run(update, dict(zip((labels, predictions), fed))) == np.float32(2 / 3)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(update, {labels: [1, 2, 3], predictions: [[1, 2], [2, 3], [0, 0]]})


def test_sparse_labels_without_a_dimension_for_them():
    labels = tf.SparseTensor(np.array([[0], [1]]), np.array([1, 0]), np.array([2]))
    predictions = tf.constant([[0.0, 1.0], [0.0, 1.0]])
    metrics = [
        tf.metrics.precision_at_k(labels, predictions, 1)[1],
        tf.metrics.recall_at_k(labels, predictions, 1)[1],
        tf.metrics.average_precision_at_k(labels, predictions, 1)[1],
        tf.metrics.precision_at_top_k(labels, tf.constant([[1], [1]], tf.int64))[1],
    ]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(metrics) == [0.5] * 4


def test_ranks_that_do_not_fit_at_k():
    one, two = tf.constant([1], tf.int64), tf.constant([0, 1], tf.int64)
    with pytest.raises(ValueError, match="Shape must be at least rank 2 but is rank 1"):
        tf.metrics.precision_at_top_k(one, two)
    with pytest.raises(ValueError, match="Unexpected labels shape"):
        tf.metrics.precision_at_top_k(tf.constant([[1]], tf.int64), one)

"""Metrics over several batches beside NumPy; reset, configurations and those of programs."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

metrics, K = tf.keras.metrics, tf.keras.backend
RANDOM = np.random.RandomState(1)
LABELS = (RANDOM.rand(2, 8) > 0.5).astype(np.float32)
SCORES = RANDOM.rand(2, 8).astype(np.float32)
WEIGHTS = RANDOM.rand(2, 8).astype(np.float32)
CLASSES = RANDOM.randint(0, 3, (2, 8, 1)).astype(np.float32)
CHOICES = RANDOM.rand(2, 8, 3).astype(np.float32)


def after_batches(metric, *batches):
    """Return the result after the first element of each of `batches`, then the second."""
    inputs = [tf.placeholder(tf.float32, part[0].shape) for part in batches]
    update, result = metric.update_state(*inputs), metric.result()
    session = K.get_session()
    for parts in zip(*batches):
        session.run(update, dict(zip(inputs, parts)))
    return session.run(result)


def counts(threshold):
    above = threshold < SCORES
    return [
        (above * LABELS).sum(), (~above * LABELS).sum(),
        (above * (1 - LABELS)).sum(), (~above * (1 - LABELS)).sum(),
    ]  # fmt: skip


TP, FN, FP, TN = counts(0.5)
RESULTS = {
    "Precision": TP / (TP + FP),
    "Recall": TP / (TP + FN),
    "TruePositives": TP,
    "FalseNegatives": FN,
    "FalsePositives": FP,
    "TrueNegatives": TN,
    "BinaryAccuracy": ((SCORES > 0.5) == LABELS).mean(),
    "MeanSquaredError": ((SCORES - LABELS) ** 2).mean(),
    "RootMeanSquaredError": np.sqrt(((SCORES - LABELS) ** 2).mean()),
    "MeanAbsoluteError": abs(SCORES - LABELS).mean(),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_several_batches(name):
    value = after_batches(getattr(metrics, name)(), LABELS, SCORES)
    np.testing.assert_allclose(value, RESULTS[name], 1e-5)


def test_means_are_weighted():
    value = after_batches(metrics.Mean(), SCORES, WEIGHTS)
    np.testing.assert_allclose(value, (SCORES * WEIGHTS).sum() / WEIGHTS.sum(), 1e-5)


def test_accuracies_of_classes():
    value = after_batches(metrics.SparseCategoricalAccuracy(), CLASSES, CHOICES)
    assert value == pytest.approx((CHOICES.argmax(-1) == CLASSES[..., 0]).mean())


def test_the_best_two_of_three():
    value = after_batches(metrics.SparseTopKCategoricalAccuracy(k=2), CLASSES, CHOICES)
    worst = CHOICES.argmin(-1) == CLASSES[..., 0]
    assert value == pytest.approx(1 - worst.mean())


@pytest.mark.parametrize("curve", ["ROC", "PR"])
def test_areas_of_exact_scores_are_one(curve):
    value = after_batches(metrics.AUC(curve=curve), LABELS, LABELS * 0.8 + 0.1)
    assert value == pytest.approx(1.0)


def test_the_point_of_a_curve():
    metric = metrics.SensitivityAtSpecificity(0.5, num_thresholds=50)
    value = after_batches(metric, LABELS, SCORES)
    limits = np.array(metric.thresholds, np.float32)
    rows = np.array([counts(limit) for limit in limits])
    nearest = abs(rows[:, 3] / (rows[:, 3] + rows[:, 2]) - 0.5).argmin()
    assert value == pytest.approx(rows[nearest, 0] / (rows[nearest, 0] + rows[nearest, 1]))


def test_overlap_of_classes():
    predicted = CHOICES.argmax(-1).astype(np.float32)[..., None]
    value = after_batches(metrics.MeanIoU(3), CLASSES, predicted)
    both = [((c == CLASSES) & (predicted == c)).sum() for c in range(3)]
    either = [((c == CLASSES) | (predicted == c)).sum() for c in range(3)]
    assert value == pytest.approx(np.mean(np.divide(both, either)))


def test_means_of_elements():
    value = after_batches(metrics.MeanTensor(), SCORES)
    np.testing.assert_allclose(value, SCORES.mean(0), 1e-6)
    with pytest.raises(ValueError, match="MeanTensor does not have any result yet"):
        metrics.MeanTensor().result()


def test_reset_forgets_all_batches():
    metric = metrics.Sum()
    result = metric(tf.constant([1.0, 2.0]))
    session = K.get_session()
    assert [session.run(result) for _ in range(2)] == [3.0, 6.0]
    metric.reset_states()
    assert session.run(result) == 3.0


def test_a_program_defines_a_metric_whose_update_returns_nothing():
    class Largest(metrics.Metric):
        def __init__(self):
            super().__init__(name="largest")
            self.largest = self.add_weight("largest", initializer="zeros")

        def update_state(self, values):
            self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))

        def result(self):
            return self.largest

    metric = Largest()
    result = metric(tf.constant([1.0, 7.0]))
    assert K.get_session().run(result) == 7.0


@pytest.mark.parametrize("name", sorted(metrics.metrics_by_name.METRIC_CLASSES))
def test_configurations_give_the_metric_again(name):
    needed = {
        "MeanIoU": {"num_classes": 2},
        "MeanRelativeError": {"normalizer": 1.0},
        "SensitivityAtSpecificity": {"specificity": 0.5},
        "SpecificityAtSensitivity": {"sensitivity": 0.5},
    }
    kind = getattr(metrics, name, None)
    if kind is None or kind is metrics.Metric:
        return
    metric = kind(**needed.get(name, {}))
    again = metrics.deserialize(metrics.serialize(metric))
    assert again.get_config() == metric.get_config()


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="Threshold values must be in"):
        metrics.Precision(thresholds=[0.5, 2])
    with pytest.raises(ValueError, match="Invalid curve"):
        metrics.AUC(curve="ROC2")
    with pytest.raises(ValueError, match=r"`specificity` must be in the range \[0, 1\]"):
        metrics.SensitivityAtSpecificity(2)
    with pytest.raises(ValueError, match="Unknown metric function: nothing"):
        metrics.get("nothing")
    assert metrics.get("acc") is metrics.get("accuracy")

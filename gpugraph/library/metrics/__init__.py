"""Metrics: averages and counts over many batches. Each metric has an operation that adds one batch.

    accuracy, update = tf.metrics.accuracy(labels, predictions)

The sums and counts are local variables, so `tf.local_variables_initializer` resets them.
"""

from __future__ import annotations

from gpugraph.library.metrics.auc_curves import (
    auc as auc,
    sensitivity_at_specificity as sensitivity_at_specificity,
    specificity_at_sensitivity as specificity_at_sensitivity,
)
from gpugraph.library.metrics.class_metrics import (
    average_precision_at_k as average_precision_at_k,
    mean_iou as mean_iou,
    precision_at_k as precision_at_k,
    precision_at_top_k as precision_at_top_k,
    recall_at_k as recall_at_k,
    recall_at_top_k as recall_at_top_k,
)
from gpugraph.library.metrics.mean_metrics import (
    accuracy as accuracy,
    mean as mean,
    mean_absolute_error as mean_absolute_error,
    mean_cosine_distance as mean_cosine_distance,
    mean_per_class_accuracy as mean_per_class_accuracy,
    mean_relative_error as mean_relative_error,
    mean_squared_error as mean_squared_error,
    mean_tensor as mean_tensor,
    percentage_below as percentage_below,
    root_mean_squared_error as root_mean_squared_error,
)
from gpugraph.library.metrics.precision_and_recall import (
    false_negatives as false_negatives,
    false_positives as false_positives,
    precision as precision,
    recall as recall,
    true_negatives as true_negatives,
    true_positives as true_positives,
)
from gpugraph.library.metrics.threshold_metrics import (
    false_negatives_at_thresholds as false_negatives_at_thresholds,
    false_positives_at_thresholds as false_positives_at_thresholds,
    precision_at_thresholds as precision_at_thresholds,
    recall_at_thresholds as recall_at_thresholds,
    true_negatives_at_thresholds as true_negatives_at_thresholds,
    true_positives_at_thresholds as true_positives_at_thresholds,
)

sparse_average_precision_at_k = average_precision_at_k
sparse_precision_at_k = precision_at_k

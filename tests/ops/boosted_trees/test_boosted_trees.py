"""Ops on boosted trees: the answers of TensorFlow 1.15 on random inputs, and rejected inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.boosted_trees.quantile_summaries import QuantileStream, boundaries_of

from .tree_programs import PROGRAMS, ensemble as new_ensemble

ANSWERS = json.loads((Path(__file__).parent / "tree_answers.json").read_text())
"""TensorFlow 1.15.5's answers (`ci/against_tensorflow/boosted_trees.py`)."""

OPS = tf.raw_ops


def same(expected: Any, actual: Any) -> bool:
    """Return whether answers are equal, numbers to 1e-6."""
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, float):
        return abs(expected - actual) <= 1e-6 * max(1.0, abs(expected))
    return bool(expected == actual)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_answers_are_tensorflows(program: Callable[[Any], Any]) -> None:
    with tf.Graph().as_default():
        assert same(ANSWERS[program.__name__], program(tf))


@pytest.fixture
def ensemble() -> Any:
    with tf.Graph().as_default():
        yield new_ensemble(tf, "ensemble")


def test_uses_before_creation_are_refused(ensemble: Any) -> None:
    handle, create = ensemble
    states = OPS.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle)
    known = OPS.IsBoostedTreesEnsembleInitialized(tree_ensemble_handle=handle)
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match=r"Could not find resource.*ensemble"):
            session.run(states)
        assert not session.run(known)
        session.run(create)
        assert session.run(known)
        session.run(create)  # a second time changes nothing
        assert session.run(states).last_layer_nodes_range.tolist() == [0, 1]


def test_malformed_ensembles_and_other_resources_are_refused(ensemble: Any) -> None:
    handle, create = ensemble
    restore = OPS.BoostedTreesDeserializeEnsemble(
        tree_ensemble_handle=handle, stamp_token=1, tree_ensemble_serialized="\xff"
    )
    stream = OPS.BoostedTreesQuantileStreamResourceHandleOp()
    wrong = OPS.BoostedTreesGetEnsembleStates(tree_ensemble_handle=stream)
    with tf.Session() as session:
        session.run(create)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse tree ensemble"):
            session.run(restore)
        with pytest.raises(tf.errors.InvalidArgumentError, match="using the wrong type"):
            session.run(wrong)


def test_nodes_buckets_and_cached_ids_out_of_range_are_refused(ensemble: Any) -> None:
    handle, create = ensemble
    ones = np.ones((1, 1), np.float32)
    sums = {
        buckets: OPS.BoostedTreesMakeStatsSummary(
            node_ids=[0], gradients=ones, hessians=ones, bucketized_features_list=[[buckets]],
            max_splits=1, num_buckets=3,
        )
        for buckets in (2, 3, -1)
    }  # fmt: skip
    bias = OPS.BoostedTreesCenterBias(
        tree_ensemble_handle=handle, mean_gradients=ones, mean_hessians=ones, l1=0.0, l2=0.0
    )
    predicted = OPS.BoostedTreesTrainingPredict(
        tree_ensemble_handle=handle, cached_tree_ids=[5], cached_node_ids=[-1],
        bucketized_features=[[0]], logits_dimension=1,
    )  # fmt: skip
    with tf.Session() as session:
        session.run(create)
        assert session.run(bias)
        for buckets in (2, 3):
            assert session.run(sums[buckets])[0, 0].tolist() == [[0, 0], [0, 0], [1, 1]]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"bucket -1 is not in the range"):
            session.run(sums[-1])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"tree id is not in the range"):
            session.run(predicted)


def test_several_logits_grow_and_predict(ensemble: Any) -> None:
    """TensorFlow 1.15 has a single logit here: the formula is checked."""
    handle, create = ensemble
    gradients = tf.constant([[1.0, -2.0, 0.5]])
    bias = OPS.BoostedTreesCenterBias(
        tree_ensemble_handle=handle, mean_gradients=gradients,
        mean_hessians=tf.constant([[1.0, 2.0, 4.0]]), l1=0.0, l2=1.0,
    )  # fmt: skip
    logits = OPS.BoostedTreesPredict(
        tree_ensemble_handle=handle, bucketized_features=[[0, 1]], logits_dimension=3
    )
    with tf.Session() as session:
        session.run(create)
        session.run(bias)
        expected = [[-0.5, 2 / 3, -0.1]] * 2
        np.testing.assert_allclose(session.run(logits), expected, rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_ranks_of_quantiles_are_within_epsilon(epsilon: float) -> None:
    values = np.random.RandomState(0).gamma(2.0, size=20_000).astype(np.float32)
    stream = QuantileStream(epsilon, 1 << 40)
    for part in np.split(values, 20):
        stream.push_values(part, np.ones_like(part))
    count = 10
    boundaries = boundaries_of(stream.finish(), count)
    ranks = np.searchsorted(np.sort(values), boundaries) / len(values)
    assert len(boundaries) >= count
    assert np.diff(ranks).max() <= 1.0 / count + 2 * epsilon


def test_lists_among_several_outputs_are_lists() -> None:
    with tf.Graph().as_default():
        arrays = np.zeros((2, 3, 2), np.float32)
        gains = OPS.BoostedTreesCalculateBestGainsPerFeature(
            node_id_range=[0, 1], stats_summary_list=[arrays], max_splits=2, l1=0.0, l2=0.0,
            tree_complexity=0.0, min_node_weight=0.0,
        )  # fmt: skip
        split = OPS.SparseSplit(
            split_dim=np.int64(0), indices=np.zeros((1, 2), np.int64), values=[1.0],
            shape=np.array([2, 2], np.int64), num_split=2,
        )  # fmt: skip
    assert [len(tensors) for tensors in gains] == [1] * 5
    assert gains.thresholds_list[0].dtype == tf.int32
    assert [len(tensors) for tensors in split] == [2] * 3
    assert split.output_shape[1].op is split[0][0].op

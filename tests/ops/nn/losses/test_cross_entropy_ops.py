"""Cross entropies along any dimension, and the errors for labels that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

LOGITS = np.random.default_rng(3).normal(size=(3, 2, 4))
LABELS = np.random.default_rng(4).random((3, 2, 4))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def value(tensor, feeds=None):
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor, feeds)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("function", ["_v2", ""])
def test_the_other_dimensions_keep_their_order(known, axis, function):
    logits = tf.placeholder(tf.float64, LOGITS.shape if known else None)
    entropy = getattr(tf.nn, f"softmax_cross_entropy_with_logits{function}")
    loss = entropy(labels=LABELS, logits=logits, axis=axis)
    powers = np.exp(LOGITS)
    wanted = -(LABELS * np.log(powers / powers.sum(axis, keepdims=True))).sum(axis)
    if known:
        assert loss.shape.as_list() == list(wanted.shape)
    np.testing.assert_allclose(value(loss, {logits: LOGITS}), wanted)


def test_the_second_derivative_is_a_product_of_matrices():
    logits = tf.constant([[1.0, 2.0, 4.0]])
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.5, 0.25, 0.25]], logits=logits)
    (first,) = tf.gradients(loss, logits)
    (second,) = tf.gradients(first[0, 0], logits)
    types = [op.type for op in tf.get_default_graph().get_operations()]
    assert "BatchMatMulV2" in types
    shares = np.exp([1.0, 2.0, 4.0]) / np.exp([1.0, 2.0, 4.0]).sum()
    wanted = [shares[0] * ((slot == 0) - shares[slot]) for slot in range(3)]
    np.testing.assert_allclose(value(second)[0], wanted, 1e-5)


def test_ranks():
    cube = tf.zeros([1, 2, 3])
    with pytest.raises(
        ValueError, match=r"Shape must be rank 2 but is rank 3 for .*logits and labels"
    ):
        tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=cube, labels=cube)
    sparse = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits
    with pytest.raises(ValueError, match=r"Shape must be rank 1 but is rank 2 for .Sparse.*labels"):
        sparse(features=tf.zeros([2, 3]), labels=[[1], [2]])
    labels = tf.placeholder(tf.int32)
    loss = sparse(features=tf.zeros([2, 3]), labels=labels).loss
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels must be 1-D, but got shape"):
        value(loss, {labels: [[1], [2]]})


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 4], r"Received a label value of 4 .* valid range of \[0, 3\)\.  Label values: 1 4"),
        ([-2, 4], r"Received a label value of -2 .* valid range of \[0, 3\)\.  Label values: -2 4"),
        ([9] * 101, r"Label values: (9 ){100}\.\.\."),
    ],
)
def test_labels_outside_are_shown(labels, message):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=tf.zeros([len(labels), 3])
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        value(loss)

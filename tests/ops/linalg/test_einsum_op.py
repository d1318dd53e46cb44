"""Einsum as one op: ellipses, labels twice, refusals. test_every_op.py has the rest."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

BATCHES = np.arange(24.0).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_an_ellipsis_is_broadcast():
    other = np.arange(20.0).reshape(1, 4, 5)
    product = tf.raw_ops.Einsum(inputs=[BATCHES, other], equation="...ij,...jk->...ki")
    assert product.shape.as_list() == [2, 5, 3]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(product), (BATCHES @ other).swapaxes(1, 2))


def test_the_diagonal_has_no_gradient_here():
    square = tf.constant(np.eye(3))
    diagonal = tf.raw_ops.Einsum(inputs=[square], equation="ii->i")
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(diagonal), [1, 1, 1])
    with pytest.raises(LookupError, match=r"use tf\.einsum, or tf\.linalg\.diag_part"):
        tf.gradients(diagonal, square)


@pytest.mark.parametrize(
    ("equation", "words"),
    [
        ("bij", "exactly one '->'"),
        ("bij,jk->bik", "Expected 2 inputs but got 1"),
        ("ij->i", "does not fit the rank"),
        ("bij->x", "labels that no input has"),
    ],
)
def test_wrong_equations_are_refused(equation, words):
    with pytest.raises(ValueError, match=words):
        tf.raw_ops.Einsum(inputs=[BATCHES], equation=equation)

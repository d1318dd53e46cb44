"""Errors of calls with arguments of TensorFlow before 1.0 name the old and the new form."""

from __future__ import annotations

import pytest

import gpugraph as tf

CALLS = {
    "tf.concat(1, [x, x])": "the axis came first",
    "tf.concat(0, x)": "the axis came first",
    "tf.concat(concat_dim=1, values=[x, x])": "the axis came first",
    "tf.split(0, 2, x)": "the axis came first",
    "tf.split(split_dim=0, num_split=2, value=x)": "the axis came first",
    "tf.reverse(x, [False, True])": "a flag for each axis",
    "tf.nn.softmax_cross_entropy_with_logits(x, x)": "the logits came first",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(x, ids)": "the logits came first",
    "tf.nn.sigmoid_cross_entropy_with_logits(x, x)": "the logits came first",
    "tf.nn.sigmoid_cross_entropy_with_logits(logits=x, targets=x)": "the logits came first",
    "tf.nn.nce_loss(w, b, x, ids, 4, 10)": "the inputs came before the labels",
    "tf.nn.sampled_softmax_loss(w, b, x, ids, 4, 10)": "the inputs came before the labels",
    "tf.summary.image('a', tf.ones([1, 2, 2, 3]), max_images=3)": "it was tf.image_summary",
}


@pytest.mark.parametrize("call", CALLS)
def test_an_old_call_is_explained(call: str) -> None:
    with tf.Graph().as_default(), pytest.raises((TypeError, ValueError)) as caught:
        names = {"x": tf.ones([2, 3]), "ids": tf.constant([[1], [2]]), "tf": tf}
        eval(call, {**names, "w": tf.ones([10, 3]), "b": tf.zeros([10])})
    assert "Before TensorFlow 1.0" in str(caught.value) and CALLS[call] in str(caught.value)


@pytest.mark.parametrize(
    "call", ["tf.concat([x, x], 5)", "tf.split(x, 7, 1)", "tf.reverse(x, [7])"]
)
def test_other_errors_have_no_such_hint(call: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"\S") as caught:
        eval(call, {"x": tf.ones([2, 3]), "tf": tf})
    assert "Before TensorFlow 1.0" not in str(caught.value)

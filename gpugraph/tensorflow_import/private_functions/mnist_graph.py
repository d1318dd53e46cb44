"""`tensorflow.examples.tutorials.mnist.mnist`: the network of the tutorial on MNIST."""

from __future__ import annotations

import math
from typing import Any

from gpugraph.api import nn, top_level as tf
from gpugraph.base import dtypes
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.library.summary.summary_functions import scalar
from gpugraph.library.train.optimizers.gradient_descent import GradientDescentOptimizer

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """Return the logits [batch, 10] of images [batch, 784], computed with two hidden layers."""
    hidden = nn.relu(_dense("hidden1", images, IMAGE_PIXELS, hidden1_units))
    hidden = nn.relu(_dense("hidden2", hidden, hidden1_units, hidden2_units))
    return _dense("softmax_linear", hidden, hidden2_units, NUM_CLASSES)


def _dense(name: str, x: Any, inputs: int, outputs: int) -> Any:
    with name_scope(name):
        deviation = 1.0 / math.sqrt(float(inputs))
        initial = tf.truncated_normal([inputs, outputs], stddev=deviation)
        weights = Variable(initial, name="weights")
        biases = Variable(tf.zeros([outputs]), name="biases")
        return tf.matmul(x, weights) + biases


def loss(logits: Any, labels: Any) -> Any:
    """Return the mean cross entropy of logits and labels, int [batch]."""
    losses = nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.cast(labels, dtypes.int64), logits=logits
    )
    return tf.reduce_mean(losses)


def training(loss: Any, learning_rate: float) -> Any:
    """Return the op of a step of gradient descent. Add a summary of the loss."""
    scalar("loss", loss)
    global_step = Variable(0, name="global_step", trainable=False)
    optimizer = GradientDescentOptimizer(learning_rate)
    return optimizer.minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> Any:
    """Return the number of examples, int32, whose largest logit is the logit of the label."""
    return tf.reduce_sum(tf.cast(nn.in_top_k(logits, labels, 1), dtypes.int32))

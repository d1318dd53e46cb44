"""Trains a convolutional network on scikit-learn's handwritten digits, by `tf.layers`.

    python examples/convnet.py                    some seconds on one CPU
    python examples/convnet.py --epochs 3         a first look

Convolution, batch normalization, pooling, dropout and dense layers; the moving averages that batch
normalization keeps are updated with each step (UPDATE_OPS), and used for the held-out digits.
Prints progress, the accuracy on held-out digits, and how long a step took.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gpugraph as tf


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.003, help="of the first steps")
    parser.add_argument("--dropout", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def block(images: tf.Tensor, filters: int, training: tf.Tensor) -> tf.Tensor:
    """Convolution without biases, which batch normalization would take away, then its relu."""
    outputs = tf.layers.conv2d(images, filters, 3, padding="same", use_bias=False)
    return tf.nn.relu(tf.layers.batch_normalization(outputs, momentum=0.9, training=training))


class Network:
    """Placeholders, loss, training step and accuracy of the classifier."""

    def __init__(self, options: argparse.Namespace, steps: int) -> None:
        self.images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
        self.labels = tf.placeholder(tf.int64, [None], name="labels")
        self.training = tf.placeholder_with_default(False, [], name="training")
        outputs = block(self.images, 16, self.training)
        outputs = block(outputs, 32, self.training)
        outputs = tf.layers.max_pooling2d(outputs, 2, 2)
        outputs = block(outputs, 64, self.training)
        outputs = tf.layers.max_pooling2d(outputs, 2, 2)
        outputs = tf.layers.flatten(outputs)
        outputs = tf.layers.dense(outputs, 128, activation=tf.nn.relu)
        outputs = tf.layers.dropout(outputs, options.dropout, training=self.training)
        logits = tf.layers.dense(outputs, 10, name="logits")
        self.loss = tf.losses.sparse_softmax_cross_entropy(self.labels, logits)
        right = tf.equal(tf.argmax(logits, 1), self.labels)
        self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32), name="accuracy")
        step = tf.train.get_or_create_global_step()
        rate = tf.train.cosine_decay(options.rate, step, steps)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            self.train = tf.train.AdamOptimizer(rate).minimize(self.loss, global_step=step)


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (images, held-out images, labels, held-out labels).

    Images are 8 by 8, from 0 to 1.
    """
    digits = load_digits()
    pixels = (digits.images[..., None] / 16.0).astype(np.float32)
    images, test_images, labels, test_labels = train_test_split(
        pixels, digits.target, test_size=0.2, random_state=1, stratify=digits.target
    )
    return images, test_images, labels, test_labels


def train(session: tf.Session, network: Network, options: argparse.Namespace) -> float:
    """Train by minibatches, and return the accuracy on held-out digits."""
    images, test_images, labels, test_labels = load()
    order = np.random.default_rng(options.seed)
    test = {network.images: test_images, network.labels: test_labels}
    losses: list[float] = []
    start = time.perf_counter()
    for epoch in range(1, options.epochs + 1):
        shuffled = order.permutation(len(images))
        for index in range(0, len(images) - options.batch + 1, options.batch):
            chosen = shuffled[index : index + options.batch]
            feeds = {network.images: images[chosen], network.labels: labels[chosen]}
            feeds[network.training] = True
            losses.append(float(session.run([network.train, network.loss], feeds)[1]))
        if epoch % 5 == 0 or epoch == 1:
            accuracy = 100 * session.run(network.accuracy, test)
            print(f"epoch {epoch:3d}  loss {np.mean(losses[-20:]):.4f}  test {accuracy:.2f} %")
    seconds = time.perf_counter() - start
    print(f"{len(losses)} steps in {seconds:.2f} s, {seconds / len(losses) * 1e3:.2f} ms a step")
    return float(session.run(network.accuracy, test))


def main(arguments: list[str] | None = None) -> float:
    options = parse_arguments(arguments)
    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        steps = options.epochs * (1437 // options.batch)
        network = Network(options, steps)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            accuracy = train(session, network, options)
    print(f"test accuracy {100 * accuracy:.2f} %")
    return accuracy


if __name__ == "__main__":
    main()

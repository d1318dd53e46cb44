"""Trains a two-layer network on scikit-learn's handwritten digits, as a TensorFlow 1 program does.

    python examples/digits.py                     on the CPU
    python examples/digits.py --virtual-gpus 2    layers on two virtual GPUs, the loss on the CPU

Prints progress, the accuracy on held-out digits, a summary of the placement, and the peak memory of
each device. The losses are the same to the last bit wherever the operations run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gpugraph as tf

PYTHON = os.path.relpath(sys.executable)
EXPLAIN = f"{PYTHON} -m gpugraph explain --ops examples/digits.py --epochs 1"
"""The command that explains each plan of this program."""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--virtual-gpus", type=int, default=0, help="GPUs in host memory")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.002)
    parser.add_argument("--losses", metavar="FILE", help="write each step's loss there, as hex")
    parser.add_argument("--quiet", action="store_true", help="leave out the placement")
    return parser.parse_args(arguments)


def dense(inputs: tf.Tensor, size: int, name: str) -> tf.Tensor:
    """inputs @ weights + biases."""
    with tf.name_scope(name):
        width = int(inputs.shape[1])
        scale = (2.0 / width) ** 0.5
        weights = tf.Variable(tf.truncated_normal([width, size], stddev=scale), name="weights")
        biases = tf.Variable(tf.zeros([size]), name="biases")
        return tf.nn.bias_add(tf.matmul(inputs, weights), biases)


class Network:
    """Placeholders, loss, training step and accuracy of the classifier."""

    def __init__(self, hidden: int, rate: float) -> None:
        self.images = tf.placeholder(tf.float32, [None, 64], name="images")
        self.labels = tf.placeholder(tf.int64, [None], name="labels")
        with tf.device("/gpu:0"):
            activations = tf.nn.relu(dense(self.images, hidden, "hidden"))
        with tf.device("/gpu:1"):
            logits = dense(activations, 10, "output")
        with tf.device("/cpu:0"):
            errors = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=self.labels, logits=logits
            )
            self.loss = tf.reduce_mean(errors, name="loss")
            right = tf.equal(tf.argmax(logits, 1), self.labels)
            self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32), name="accuracy")
        self.train = tf.train.AdamOptimizer(rate).minimize(self.loss)


def report(session: tf.Session, network: Network) -> None:
    """Print the placement of the training step in five lines, and each device's peak memory."""
    feeds = {network.images: np.zeros((32, 64)), network.labels: np.zeros(32)}
    explanation = session.explain([network.train, network.loss], feeds)
    print(f"\nplacement of a training step\n{explanation.summary()}\n")
    print(f"{len(explanation.transfers)} tensors go to another device in a step")
    for device, stats in session.memory_stats().items():
        print(f"peak memory of {device}: {stats.peak_bytes_in_use / 1024:.1f} KiB")
    print(f"\neach operation and the reason for its device: {EXPLAIN}")


def train(session: tf.Session, network: Network, options: argparse.Namespace) -> list[float]:
    """Train by minibatches, and return the loss of each step."""
    digits = load_digits()
    pixels = (digits.data / 16.0).astype(np.float32)
    parts = train_test_split(
        pixels, digits.target, test_size=0.2, random_state=1, stratify=digits.target
    )
    images, test_images, labels, test_labels = parts
    order = np.random.default_rng(0)
    losses = []
    start = time.perf_counter()
    for epoch in range(1, options.epochs + 1):
        shuffled = order.permutation(len(images))
        for index in range(0, len(images), options.batch):
            chosen = shuffled[index : index + options.batch]
            feeds = {network.images: images[chosen], network.labels: labels[chosen]}
            _, loss = session.run([network.train, network.loss], feeds)
            losses.append(float(loss))
        if epoch % 5 == 0 or epoch == 1:
            print(f"epoch {epoch:3d}  loss {np.mean(losses[-40:]):.4f}")
    seconds = time.perf_counter() - start
    print(f"{len(losses)} steps in {seconds:.2f} s, {seconds / len(losses) * 1e6:.0f} us a step")
    feeds = {network.images: test_images, network.labels: test_labels}
    print(f"test accuracy {100 * session.run(network.accuracy, feeds):.2f} %")
    if not options.quiet:
        report(session, network)
    return losses


def main(arguments: list[str] | None = None) -> list[float]:
    options = parse_arguments(arguments)
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        network = Network(options.hidden, options.rate)
        config = tf.ConfigProto(
            allow_soft_placement=True, gpu_options=tf.GPUOptions(virtual_gpus=options.virtual_gpus)
        )
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            losses = train(session, network, options)
    if options.losses:
        with open(options.losses, "w", encoding="utf-8") as file:
            file.writelines(f"{loss.hex()}\n" for loss in losses)
    return losses


if __name__ == "__main__":
    main()

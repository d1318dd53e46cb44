"""Trains on handwritten digits as long runs of TensorFlow 1 do, and goes on where it was killed.

    python examples/monitored.py --folder /tmp/digits

A thread fills a queue with batches. A checkpoint is saved every 100 steps, summaries every 20:
`tensorboard --logdir /tmp/digits` shows them. Kill the program at any moment, by `kill -9` too:
started again, it goes on from the last checkpoint, with the losses of a run that was never killed.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits

import gpugraph as tf

BATCH = 32


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", required=True, help="of checkpoints and summaries")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--every", type=int, default=100, help="steps between two checkpoints")
    parser.add_argument("--losses", metavar="FILE", help="write each step and its loss there")
    return parser.parse_args(arguments)


class Batches:
    """A queue of batches, which a thread of the session fills: one for each step, in order.

    Which examples a step learns from follows from its number alone. The thread begins at the global
    step of the session: 0, or that of the checkpoint.
    """

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = images, labels
        local = [tf.GraphKeys.LOCAL_VARIABLES]
        start = tf.train.get_or_create_global_step().value()
        position = tf.Variable(start, trainable=False, collections=local, name="position")
        number = tf.assign_add(position, 1) - 1
        batch = tf.py_func(self.of_step, [number], [tf.float32, tf.int64])
        shapes = [[BATCH, 64], [BATCH]]
        self.queue = tf.FIFOQueue(8, [tf.float32, tf.int64], shapes, name="batches")
        runner = tf.train.QueueRunner(self.queue, [self.queue.enqueue(batch)])
        tf.train.add_queue_runner(runner)
        tf.summary.scalar("batches_that_wait", self.queue.size())

    def of_step(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = np.random.RandomState(step).randint(0, len(self.images), BATCH)
        return self.images[chosen], self.labels[chosen]


class Network:
    """Loss, training step and summaries of a two-layer classifier."""

    def __init__(self, batches: Batches) -> None:
        self.images, self.labels = batches.queue.dequeue()
        hidden = tf.layers.dense(self.images, 64, tf.nn.relu, name="hidden")
        logits = tf.layers.dense(hidden, 10, name="logits")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits)
        self.loss = tf.reduce_mean(losses, name="loss")
        self.step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(0.002)
        self.train = optimizer.minimize(self.loss, global_step=self.step)
        right = tf.equal(tf.argmax(logits, 1), self.labels)
        self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32), name="accuracy")
        self.add_summaries(hidden)

    def add_summaries(self, hidden: tf.Tensor) -> None:
        tf.summary.scalar("loss", self.loss)
        tf.summary.scalar("accuracy", self.accuracy)
        tf.summary.histogram("hidden", hidden)
        for variable in tf.trainable_variables():
            tf.summary.histogram(variable.op.name, variable)
        tf.summary.image("digits", tf.reshape(self.images, [-1, 8, 8, 1]), max_outputs=4)


class LossFile(tf.train.SessionRunHook):
    """Writes each step's number and loss, to the last bit, into a file that may exist."""

    def __init__(self, network: Network, path: str) -> None:
        self.network, self.path = network, path

    def after_create_session(self, session: tf.Session, coord: object) -> None:
        self.step = int(session.run(self.network.step))

    def before_run(self, run_context: tf.train.SessionRunContext) -> tf.train.SessionRunArgs:
        return tf.train.SessionRunArgs(self.network.loss)

    def after_run(
        self, run_context: tf.train.SessionRunContext, run_values: tf.train.SessionRunValues
    ) -> None:
        with open(self.path, "a") as file:
            file.write(f"{self.step} {float(run_values.results).hex()}\n")
        self.step += 1


def main(arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    tf.set_random_seed(1)
    network = Network(Batches(images, labels))
    hooks = [
        tf.train.StopAtStepHook(last_step=options.steps),
        tf.train.NanTensorHook(network.loss),
        tf.train.ProgressHook(options.steps, network.loss),
    ]
    # hooks of the chief come before that of checkpoints: no step is saved whose loss is not written
    first_hooks = [LossFile(network, options.losses)] if options.losses else []
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=options.folder,
        hooks=hooks,
        chief_only_hooks=first_hooks,
        save_checkpoint_steps=options.every,
        save_summaries_steps=20,
    ) as session:
        while not session.should_stop():
            session.run(network.train)


if __name__ == "__main__":
    main()

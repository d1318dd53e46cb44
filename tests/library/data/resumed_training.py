"""A training that a test kills and starts again: `resumed_training.py WAY FOLDER STEPS`.

It goes on where its latest checkpoint ends, and writes a line for each step to FOLDER/losses.txt:
the step, the loss's bits, and the ids of the examples. WAY is `saver` or `hook`.
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import numpy as np

import gpugraph as tf

EVERY = 3
"""Steps between two checkpoints."""


def pipeline(folder):
    """Return a dataset that shuffles, repeats, interleaves, prefetches, maps and batches."""
    paths = [os.path.join(folder, f"part{number}.records") for number in range(4)]
    for number, path in enumerate(paths):
        if not os.path.exists(path):
            with tf.io.TFRecordWriter(f"{path}.new") as writer:
                for place in range(10 * number, 10 * number + 10):
                    writer.write(np.float32(place).tobytes())
            os.rename(f"{path}.new", path)
    dataset = tf.data.Dataset.from_tensor_slices(paths).shuffle(4, seed=3)
    dataset = dataset.interleave(
        tf.data.TFRecordDataset, cycle_length=2, block_length=3, num_parallel_calls=2
    )
    dataset = dataset.shuffle(16, seed=4).repeat()
    dataset = dataset.map(decoded, num_parallel_calls=3).batch(4)
    return dataset.prefetch(2)


def decoded(record):
    """Return the number in a record, and that number with noise."""
    number = tf.reshape(tf.decode_raw(record, tf.float32), [])
    return number, number / 40 + tf.random_normal([], stddev=0.1, seed=5)


class Log(tf.train.SessionRunHook):
    """A hook that writes the losses."""

    def __init__(self, file, fetches):
        self.file, self.fetches = file, fetches

    def before_run(self, run_context):
        """Ask for the loss."""
        return tf.train.SessionRunArgs(self.fetches)

    def after_run(self, run_context, run_values):
        """Write it."""
        note(self.file, *run_values.results)


def note(file, step, loss, numbers):
    """Write a line, and hand it to the system."""
    ids = ",".join(str(int(number)) for number in numbers)
    file.write(f"{int(step)} {np.float32(loss).tobytes().hex()} {ids}\n")
    file.flush()


def build(folder):
    """Return the iterator, the training op, and the step, loss and numbers of a run."""
    tf.set_random_seed(1)
    iterator = pipeline(folder).make_initializable_iterator()
    numbers, x = iterator.get_next()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(x * w - tf.sin(numbers)))
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, step)
    with tf.control_dependencies([train]):
        after = step.read_value() if hasattr(step, "read_value") else tf.identity(step)
    return iterator, train, (after, loss, numbers)


def main(way, folder, steps):
    """Train up to a step."""
    with open(os.path.join(folder, "losses.txt"), "a", encoding="utf-8") as file:
        train(way, folder, steps, file)


def train(way, folder, steps, file):
    """Train up to a step, and write the losses to a file."""
    iterator, training, fetches = build(folder)
    saveable = tf.data.experimental.make_saveable_from_iterator
    if way == "saver":
        saver = tf.train.Saver([*tf.global_variables(), saveable(iterator)], max_to_keep=2)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), iterator.initializer])
            latest = tf.train.latest_checkpoint(folder)
            if latest:
                saver.restore(session, latest)
            number = session.run(tf.train.get_global_step())
            while number < steps:
                _, results = session.run([training, fetches])
                number = results[0]
                note(file, *results)
                if number % EVERY == 0:
                    saver.save(session, os.path.join(folder, "model"), number)
        return
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    config = SimpleNamespace(
        keep_checkpoint_max=5, save_checkpoints_secs=None, save_checkpoints_steps=EVERY
    )
    estimator = SimpleNamespace(config=config, model_dir=folder)
    hooks = [
        tf.train.StopAtStepHook(last_step=steps),
        tf.data.experimental.CheckpointInputPipelineHook(estimator),
    ]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=EVERY,
        save_checkpoint_secs=None, save_summaries_steps=None, save_summaries_secs=None,
        log_step_count_steps=None,
        chief_only_hooks=[Log(file, fetches)],  # before the checkpoint that contains the step
    ) as session:  # fmt: skip
        while not session.should_stop():
            session.run(training)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

"""Trains on handwritten digits on Ray: a parameter server and two workers are its actors.

    python examples/ray_training.py                      asynchronously, then synchronously
    python examples/ray_training.py --workers 4 --address auto      on the cluster of this machine

A worker trains a copy of the network on batches of its own; the variables are on the server. Each
by itself, or all with the mean of their gradients. A worker that dies is started anew by Ray.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

import gpugraph as tf
from gpugraph.cluster import RayTask, ray_cluster

BATCH = 32


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300, help="of all workers together")
    parser.add_argument("--address", help='of a Ray that runs, or "auto"; else one is started')
    parser.add_argument("--ways", nargs="+", default=["asynchronous", "synchronous"])
    return parser.parse_args(arguments)


def train(task: RayTask, way: str, workers: int, steps: int) -> float:
    """Train as one of the workers, and return the accuracy on all digits."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    tf.set_random_seed(1)
    setter = tf.train.replica_device_setter(cluster=task.cluster, worker_device=task.device)
    with tf.device(setter), tf.variable_scope(way):
        x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int64, [None])
        logits = tf.layers.dense(tf.layers.dense(x, 64, tf.nn.relu), 10)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_mean(losses)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
        optimizer = tf.train.AdamOptimizer(0.005)
        hooks = [tf.train.StopAtStepHook(last_step=steps)]
        if way == "synchronous":
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers)
            hooks.append(optimizer.make_session_run_hook(task.index == 0))
        step = tf.train.get_or_create_global_step()
        train_op = optimizer.minimize(loss, global_step=step)
        missing = tf.report_uninitialized_variables(tf.global_variables())
    config = tf.ConfigProto(device_filters=["/job:ps", task.device])
    if task.index:  # a monitored session would look every 30 seconds only
        with tf.Session(task.target, config=config) as session:
            while len(session.run(missing)):
                time.sleep(0.05)
    draw = np.random.RandomState(task.index)
    right = 0.0
    with tf.train.MonitoredTrainingSession(
        task.target, is_chief=task.index == 0, hooks=hooks, config=config, stop_grace_period_secs=1
    ) as session:
        while not session.should_stop():
            chosen = draw.randint(0, len(images), BATCH)
            feeds = {x: images[chosen], y: labels[chosen]}
            _, batch_loss, number, right = session.run([train_op, loss, step, accuracy], feeds)
            task.report(step=int(number), loss=float(batch_loss))
    print(f"{task.device} has finished {way}; accuracy of its last batch {right:.3f}", flush=True)
    return float(right)


def show(progress: dict[tuple[str, int], dict[str, float]]) -> None:
    """Print how far the workers are."""
    texts = [
        f"{job} {index}: step {values['step']}, loss {values['loss']:.3f}"
        for (job, index), values in progress.items()
        if "step" in values
    ]
    print("; ".join(texts), flush=True)


def main(arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    for way in options.ways:
        with ray_cluster({"ps": 1, "worker": options.workers}, address=options.address) as cluster:
            found = cluster.run(train, way, options.workers, options.steps, on_progress=show)
        print(f"{way}: accuracy of the last batches {min(found):.3f} to {max(found):.3f}")


if __name__ == "__main__":
    main()

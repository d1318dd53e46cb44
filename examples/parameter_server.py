"""Trains on handwritten digits by several processes: one parameter server and two workers.

    python examples/parameter_server.py                    each worker by itself
    python examples/parameter_server.py --synchronous      both average their gradients

The command starts the processes, each of which runs this program as a task of the cluster. The
variables are on the server; the first worker makes them ready, and prints the accuracy at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import load_digits

import gpugraph as tf

BATCH = 32


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=600, help="of all workers together")
    parser.add_argument("--synchronous", action="store_true", help="average the gradients")
    parser.add_argument("--cluster", type=json.loads, help="addresses by job, for one task")
    parser.add_argument("--task", help="the task that this process is: JOB:NUMBER")
    return parser.parse_args(arguments)


def free_addresses(count: int) -> list[str]:
    """Return addresses of this machine on which nobody listens."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("localhost", 0))
        return [f"localhost:{listener.getsockname()[1]}" for listener in listeners]


def start_all(options: argparse.Namespace) -> None:
    """Start a process for each task, and wait for the workers."""
    addresses = free_addresses(options.workers + 1)
    cluster = {"ps": addresses[:1], "worker": addresses[1:]}
    command = [sys.executable, __file__, "--cluster", json.dumps(cluster)]
    command += ["--steps", str(options.steps), *(["--synchronous"] * options.synchronous)]
    server = subprocess.Popen([*command, "--task", "ps:0"])
    workers = [
        subprocess.Popen([*command, "--task", f"worker:{task}"]) for task in range(options.workers)
    ]
    try:
        statuses = [worker.wait() for worker in workers]
        if any(statuses):
            raise SystemExit("a worker has failed")
    finally:
        for process in (server, *workers):
            process.kill()
            process.wait()


class Network:
    """Loss, accuracy and training step of a two-layer classifier."""

    def __init__(self, num_workers: int, synchronous: bool) -> None:
        self.images = tf.placeholder(tf.float32, [None, 64])
        self.labels = tf.placeholder(tf.int64, [None])
        hidden = tf.layers.dense(self.images, 64, tf.nn.relu)
        logits = tf.layers.dense(hidden, 10)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits)
        self.loss = tf.reduce_mean(losses)
        right = tf.equal(tf.argmax(logits, 1), self.labels)
        self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        optimizer = tf.train.AdamOptimizer(0.002)
        if synchronous:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, num_workers)
        self.optimizer, self.synchronous = optimizer, synchronous
        self.step = tf.train.get_or_create_global_step()
        self.train = optimizer.minimize(self.loss, global_step=self.step)

    def hooks(self, is_chief: bool, steps: int) -> list[tf.train.SessionRunHook]:
        hooks = [tf.train.StopAtStepHook(last_step=steps)]
        if self.synchronous:
            hooks.append(self.optimizer.make_session_run_hook(is_chief))
        return hooks


def wait_for_the_chief(target: str, config: tf.ConfigProto, missing: tf.Tensor) -> None:
    """Wait until the variables are ready: a monitored session looks every 30 seconds only."""
    with tf.Session(target, config=config) as session:
        while len(session.run(missing)):
            time.sleep(0.05)


def work(cluster: dict[str, list[str]], task: int, options: argparse.Namespace) -> None:
    """Train as one of the workers."""
    server = tf.train.Server(cluster, "worker", task)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    tf.set_random_seed(1)
    device = f"/job:worker/task:{task}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=device)):
        network = Network(len(cluster["worker"]), options.synchronous)
        missing = tf.report_uninitialized_variables(tf.global_variables())
    # a worker needs the server and itself: others may come later, and be gone before
    config = tf.ConfigProto(device_filters=["/job:ps", device])
    if task:
        wait_for_the_chief(server.target, config, missing)
    draw = np.random.RandomState(task)
    accuracy = 0.0
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=task == 0,
        hooks=network.hooks(task == 0, options.steps),
        config=config,
        stop_grace_period_secs=1,
    ) as session:
        while not session.should_stop():
            chosen = draw.randint(0, len(images), BATCH)
            feeds = {network.images: images[chosen], network.labels: labels[chosen]}
            _, loss, step, accuracy = session.run(
                [network.train, network.loss, network.step, network.accuracy], feeds
            )
            if step % 100 < 2:
                print(f"worker {task}, step {step}: loss {loss:.3f}", flush=True)
    print(f"worker {task} has finished; accuracy of its last batch {accuracy:.3f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    if options.task is None:
        start_all(options)
        return
    job, _, number = options.task.partition(":")
    if job == "ps":
        tf.train.Server(options.cluster, job, int(number)).join()
    else:
        work(options.cluster, int(number), options)


if __name__ == "__main__":
    main()

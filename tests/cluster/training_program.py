"""One process of a training that `test_killed_processes.py` kills: a server, and its training.

    python training_program.py CLUSTER JOB TASK FOLDER MODE

A parameter server waits. A worker prints each step's number and loss. MODE is "synchronous" or
"asynchronous". The batch of a step follows from the global step, half of it for each worker.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import gpugraph as tf

STEPS, WORKERS, ROWS, WEIGHTS, RATE = 40, 2, 16, (1.0, -2.0, 0.5), 0.1


def batches() -> Any:
    """Return the inputs of each step and worker."""
    draw = np.random.RandomState(0)
    return draw.standard_normal((STEPS, WORKERS, ROWS, len(WEIGHTS))).astype(np.float32)


def loss_of(inputs: Any, weights: Any) -> Any:
    """Return the mean squared error of a linear model whose right weights are known."""
    wanted = tf.reshape(tf.constant(WEIGHTS, tf.float32), [-1, 1])
    return tf.reduce_mean(tf.square(tf.matmul(inputs, weights - wanted)))


def train(cluster: dict[str, Any], index: int, target: str, folder: str, mode: str) -> None:
    """Train as one of the workers until the global step is STEPS."""
    worker = f"/job:worker/task:{index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=worker)):
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("w", [len(WEIGHTS), 1], initializer=tf.zeros_initializer())
        row = tf.minimum(step, STEPS - 1)
        loss = loss_of(tf.gather(tf.constant(batches()[:, index]), row), weights)
        optimizer: Any = tf.train.GradientDescentOptimizer(RATE)
        hooks: list[Any] = [tf.train.StopAtStepHook(last_step=STEPS)]
        if mode == "synchronous":
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, WORKERS, WORKERS)
        with tf.control_dependencies([loss]):
            op = optimizer.minimize(loss, global_step=step)
        if mode == "synchronous":
            hooks.append(optimizer.make_session_run_hook(index == 0, num_tokens=0))
    with tf.train.MonitoredTrainingSession(
        target,
        is_chief=index == 0,
        checkpoint_dir=folder,
        hooks=hooks,
        save_checkpoint_secs=None,
        save_checkpoint_steps=5,
        save_summaries_steps=None,
        log_step_count_steps=None,
        config=tf.ConfigProto(device_filters=["/job:ps", worker]),
        max_wait_secs=60,
    ) as session:
        while not session.should_stop():
            number, value, _ = session.run([row, loss, op])
            print(int(number), float(value), flush=True)


def main() -> None:
    cluster, job, task, folder, mode = json.loads(sys.argv[1]), *sys.argv[2:]
    server = tf.train.Server(cluster, job, int(task))
    print("ready", flush=True)
    if job == "ps":
        server.join()
    train(cluster, int(task), server.target, folder, mode)
    print("end", flush=True)


if __name__ == "__main__":
    main()

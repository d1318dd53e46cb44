"""A task of a cluster that trains by a strategy and prints its losses.

Arguments: TF_CONFIG, the name of the strategy, the number of steps. Started by
test_worker_strategies.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

import gpugraph as tf

BATCH = np.random.default_rng(0).uniform(-1, 1, (8, 5)).astype(np.float32)


def train(strategy: Any, target: str, steps: int) -> list[float]:
    """Return the losses of all workers, over a dataset of one global batch."""
    with tf.Graph().as_default(), strategy.scope():
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(0.05)

        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors(BATCH).repeat())

        def fn(rows: Any) -> Any:
            hidden = tf.layers.dense(
                rows, 3, tf.tanh, kernel_initializer=tf.constant_initializer(0.3)
            )
            loss = tf.reduce_sum(tf.square(hidden - 1.0)) / 8.0
            operation = optimizer.minimize(loss, global_step=step)
            with tf.control_dependencies([operation]):
                return tf.identity(loss)

        total = strategy.reduce(
            "SUM", strategy.experimental_run_v2(fn, (iterator.get_next(),)), axis=None
        )
        config = strategy.update_config_proto(tf.ConfigProto())
        with tf.Session(target, config=config) as session:
            session.run([tf.global_variables_initializer(), iterator.initializer])
            return [float(session.run(total)) for _ in range(steps)]


def main() -> None:
    """Start the server of this task; print the losses of a worker as JSON."""
    os.environ["TF_CONFIG"], name, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    task = json.loads(sys.argv[1])["task"]
    server = tf.contrib.distribute.run_standard_tensorflow_server()
    if task["type"] == "ps":
        print("ready", flush=True)
        server.join()
    strategy = getattr(tf.distribute.experimental, name)()
    print(json.dumps(train(strategy, server.target, steps)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

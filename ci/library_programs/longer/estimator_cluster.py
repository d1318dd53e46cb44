"""tensorflow-estimator: train_and_evaluate on a cluster by TF_CONFIG, each task a process."""
import json
import os
import socket
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.random.RandomState(0).randn(400, 3).astype(np.float32)
y = (x.sum(1) > 0).astype(np.int32)
STEPS = 150


def train_fn():
    return tf.data.Dataset.from_tensor_slices(({'x': x}, y)).repeat().batch(40)


def test_fn():
    return tf.data.Dataset.from_tensor_slices(({'x': x}, y)).batch(40)


def run(folder):
    config = tf.estimator.RunConfig(folder, save_checkpoints_steps=50)
    column = tf.feature_column.numeric_column('x', [3])
    estimator = tf.estimator.DNNClassifier([8], [column], config=config)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(train_fn, max_steps=STEPS),
        tf.estimator.EvalSpec(test_fn, start_delay_secs=0, throttle_secs=1),
    )


def port():
    with socket.socket() as listener:
        listener.bind(('localhost', 0))
        return listener.getsockname()[1]


def start(cluster, kind, folder):
    config = {'cluster': cluster, 'task': {'type': kind, 'index': 0}}
    return subprocess.Popen(
        [sys.executable, '-W', 'ignore', __file__, folder],
        env=dict(os.environ, TF_CONFIG=json.dumps(config)),
    )


if len(sys.argv) > 1:
    run(sys.argv[1])
else:
    folder = tempfile.mkdtemp()
    cluster = {kind: ['localhost:%d' % port()] for kind in ('chief', 'ps')}
    server = start(cluster, 'ps', folder)
    others = [start(cluster, kind, folder) for kind in ('chief', 'evaluator')]
    try:
        assert [task.wait(200) for task in others] == [0, 0]
    finally:
        for task in [server, *others]:
            task.kill()
    assert tf.train.latest_checkpoint(folder).endswith('-%d' % STEPS)
    assert os.listdir(folder + '/eval')

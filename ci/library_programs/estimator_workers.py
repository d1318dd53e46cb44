"""tensorflow-estimator: `train_and_evaluate` as each of two workers under a strategy."""
import json
import os
import socket
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.random.RandomState(0).randn(64, 4).astype(np.float32)
y = x.dot(np.array([[1.0], [-2.0], [3.0], [0.5]], np.float32)) + 0.1
BATCH = 32


def model_fn(features, labels, mode):
    out = tf.layers.dense(features, 1, kernel_initializer=tf.zeros_initializer(), name='out')
    loss = tf.losses.mean_squared_error(labels, out)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)


def input_fn(input_context=None):
    count = input_context.num_input_pipelines if input_context else 1
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(BATCH // count)
    if input_context:
        dataset = dataset.shard(count, input_context.input_pipeline_id)
    return dataset


def trained(folder, strategy):
    config = tf.estimator.RunConfig(
        model_dir=folder, train_distribute=strategy, save_checkpoints_steps=5
    )
    estimator = tf.estimator.Estimator(model_fn, folder, config)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps=10),
        tf.estimator.EvalSpec(input_fn, steps=1),
    )
    return tf.train.load_variable(tf.train.latest_checkpoint(folder), 'out/kernel')


def ports(count):
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    numbers = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return numbers


if len(sys.argv) > 1:
    trained(sys.argv[1], tf.distribute.experimental.MultiWorkerMirroredStrategy())
else:
    folder = tempfile.mkdtemp()
    cluster = {'worker': ['127.0.0.1:%d' % port for port in ports(2)]}
    workers = []
    for number in range(2):
        config = {'cluster': cluster, 'task': {'type': 'worker', 'index': number}}
        command = [sys.executable, '-m', 'gpugraph', 'run', os.path.abspath(__file__), folder]
        environment = dict(os.environ, TF_CONFIG=json.dumps(config))
        workers.append(subprocess.Popen(command, env=environment))
    assert [worker.wait() for worker in workers] == [0, 0]
    kernel = tf.train.load_variable(tf.train.latest_checkpoint(folder), 'out/kernel')
    np.testing.assert_allclose(kernel, trained(tempfile.mkdtemp(), None), 1e-5)
    print('ok')

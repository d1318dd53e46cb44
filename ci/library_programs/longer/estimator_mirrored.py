"""tensorflow-estimator: RunConfig(train_distribute=MirroredStrategy)."""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.random.RandomState(0).randn(256, 2).astype(np.float32)
y = (x @ [[3.0], [-1.0]] + 0.5).astype(np.float32)


def model_fn(features, labels, mode):
    out = tf.layers.dense(features, 1)
    loss = tf.losses.mean_squared_error(labels, out)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def inputs():
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat(10).batch(16)


strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), config)
estimator.train(inputs, steps=100)
scores = estimator.evaluate(inputs, steps=10)
assert scores['loss'] < 1e-2, scores
np.testing.assert_allclose(estimator.get_variable_value('dense/kernel').ravel(), [3.0, -1.0], atol=0.1)

"""tensorflow-estimator: RunConfig(train_distribute=..., eval_distribute=...) over CPU devices."""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.random.RandomState(0).randn(64, 4).astype(np.float32)
y = x.dot(np.array([[1.0], [-2.0], [3.0], [0.5]], np.float32)) + 0.1


def model_fn(features, labels, mode):
    zeros = tf.zeros_initializer()
    out = tf.layers.dense(features, 1, kernel_initializer=zeros, name='out')
    out = tf.layers.batch_normalization(out, training=mode == tf.estimator.ModeKeys.TRAIN) * 0.0 + out
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={'y': out})
    loss = tf.losses.mean_squared_error(labels, out)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {'mae': tf.metrics.mean_absolute_error(labels, out)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(batch):
    return lambda: tf.data.Dataset.from_tensor_slices((x, y)).repeat(3).batch(batch)


def trained(strategy, count):
    session = tf.ConfigProto(device_count={'CPU': 4}, allow_soft_placement=True)
    config = tf.estimator.RunConfig(
        train_distribute=strategy, eval_distribute=strategy, session_config=session,
        save_checkpoints_steps=5, tf_random_seed=3,
    )
    estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), config)
    estimator.train(input_fn(32 // count), steps=6)
    kernel = estimator.get_variable_value('out/kernel')
    evaluated = estimator.evaluate(input_fn(32 // count), steps=4)
    predicted = [p['y'] for p in estimator.predict(input_fn(32))]
    names = sorted(estimator.get_variable_names())
    result, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn(32 // count), max_steps=8),
        tf.estimator.EvalSpec(input_fn(32 // count), steps=2, throttle_secs=0),
    )
    assert result['global_step'] == 8, result
    return kernel, evaluated, np.array(predicted), names


expected = trained(None, 1)
strategies = {
    2: tf.distribute.MirroredStrategy(['/cpu:0', '/cpu:1']),
    4: tf.distribute.MirroredStrategy(['/cpu:%d' % number for number in range(4)]),
    1: tf.distribute.OneDeviceStrategy('/cpu:0'),
    -2: tf.distribute.experimental.CentralStorageStrategy(['/cpu:0', '/cpu:1'], '/cpu:0'),
}
for count, strategy in strategies.items():
    kernel, evaluated, predicted, names = trained(strategy, abs(count))
    np.testing.assert_allclose(kernel, expected[0], 1e-4, 1e-5)
    assert abs(evaluated['mae'] - expected[1]['mae']) < 1e-4, (evaluated, expected[1])
    assert abs(evaluated['loss'] - expected[1]['loss']) < 1e-4, (evaluated, expected[1])
    np.testing.assert_allclose(predicted, expected[2], 1e-4, 1e-5)
    assert names == expected[3], names
print('ok')

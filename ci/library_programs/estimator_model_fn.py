"""tensorflow-estimator: a custom model_fn, trained, evaluated, exported, and started warm."""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.random.RandomState(0).randn(256, 4).astype(np.float32)
y = x.dot(np.array([1.0, -2.0, 3.0, 0.5], np.float32)) + 0.1


def model_fn(features, labels, mode, params):
    out = tf.layers.dense(features['x'], 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {'serving_default': tf.estimator.export.PredictOutput({'y': out})}
        return tf.estimator.EstimatorSpec(mode, predictions={'y': out}, export_outputs=outputs)
    loss = tf.losses.mean_squared_error(labels, out)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {'mae': tf.metrics.mean_absolute_error(labels, out)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = tf.train.AdamOptimizer(params['rate']).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


folder = tempfile.mkdtemp()
config = tf.estimator.RunConfig(save_checkpoints_steps=50, tf_random_seed=3)
estimator = tf.estimator.Estimator(model_fn, folder, config, params={'rate': 0.1})
train = tf.estimator.inputs.numpy_input_fn({'x': x}, y, batch_size=32, num_epochs=None, shuffle=True)
test = tf.estimator.inputs.numpy_input_fn({'x': x}, y, batch_size=32, num_epochs=1, shuffle=False)
estimator.train(train, steps=100)
first = estimator.evaluate(test)
assert first['mae'] < 0.2 and first['global_step'] == 100, first
kernel = estimator.get_variable_value('dense/kernel').ravel()
bias = estimator.get_variable_value('dense/bias')
predicted = np.array([p['y'] for p in estimator.predict(test)])
np.testing.assert_allclose(predicted, x.dot(kernel) + bias, rtol=1e-4, atol=1e-5)


def serving():
    fed = tf.placeholder(tf.float32, [None, 4])
    return tf.estimator.export.ServingInputReceiver({'x': fed}, {'x': fed})


path = estimator.export_saved_model(folder + '/export', serving)
with tf.Session(graph=tf.Graph()) as session:
    meta = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], path)
    signature = meta.signature_def['serving_default']
    served = session.run(signature.outputs['y'].name, {signature.inputs['x'].name: x[:3]})
np.testing.assert_allclose(served, predicted[:3], rtol=1e-5)
result, _ = tf.estimator.train_and_evaluate(
    estimator,
    tf.estimator.TrainSpec(train, max_steps=150),
    tf.estimator.EvalSpec(test, steps=None, throttle_secs=0),
)
assert result['global_step'] == 150 and result['loss'] < first['loss'], result
warm = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), params={'rate': 0.0}, warm_start_from=folder)
warm.train(train, steps=1)
np.testing.assert_allclose(warm.evaluate(test)['loss'], result['loss'], rtol=1e-5)

"""tensorflow-estimator: tf.keras.estimator.model_to_estimator, trained and evaluated."""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.random.RandomState(0).randn(128, 5).astype(np.float32)
y = (x.sum(1) > 0).astype(np.float32)[:, None]
model = tf.keras.Sequential([
    tf.keras.layers.Dense(8, activation='relu', input_shape=(5,), name='hidden'),
    tf.keras.layers.Dense(1, activation='sigmoid', name='out'),
])
model.compile(optimizer=tf.train.AdamOptimizer(0.05), loss='binary_crossentropy', metrics=['accuracy'])
estimator = tf.keras.estimator.model_to_estimator(model, model_dir=tempfile.mkdtemp())
name = model.input_names[0]


def inputs(repeat):
    data = tf.data.Dataset.from_tensor_slices(({name: x}, y)).batch(32)
    return data.repeat() if repeat else data


estimator.train(lambda: inputs(True), steps=100)
scores = estimator.evaluate(lambda: inputs(False))
assert scores['acc'] > 0.9 and scores['global_step'] == 100, scores
predicted = np.array([p['out'] for p in estimator.predict(lambda: inputs(False))])
assert ((predicted > 0.5) == y).mean() > 0.9

"""Keras's fit on datasets, with validation, and evaluate."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
x = rng.randn(160, 8).astype(np.float32)
y = (x[:, :1] * x[:, 1:2] > 0).astype(np.float32)


def scale(a, b):
    return a * 0.5, b


training = tf.data.Dataset.from_tensor_slices((x[:120], y[:120]))
training = training.shuffle(120, seed=4).map(scale, num_parallel_calls=2).batch(12).repeat()
validation = tf.data.Dataset.from_tensor_slices((x[120:], y[120:])).map(scale).batch(20)
layers = tf.keras.layers
uniform = tf.keras.initializers.glorot_uniform
model = tf.keras.Sequential(
    [
        layers.Dense(16, activation="relu", input_shape=(8,), kernel_initializer=uniform(seed=1)),
        layers.Dense(1, activation="sigmoid", kernel_initializer=uniform(seed=2)),
    ]
)
model.compile(optimizer=tf.keras.optimizers.SGD(0.5), loss="binary_crossentropy", metrics=["acc"])
history = model.fit(
    training,
    epochs=10,
    steps_per_epoch=10,
    validation_data=validation,
    validation_steps=2,
    verbose=0,
)
for one, other in zip(history.history["loss"], history.history["val_loss"]):
    print("loss %.8g %.8g" % (one, other))
print("evaluated loss %.8g" % model.evaluate(validation, steps=2, verbose=0)[0])
predicted = model.predict(validation.map(lambda a, b: a), steps=2)
print("predicted loss %.8g" % predicted.mean())

"""Models for old Keras, built of `keras`, whichever it is, with weights that everybody has.

`losses` trains one for 20 steps. ci/against_tensorflow/old_keras.py does so by TensorFlow's Keras
and keeps the numbers in old_keras_values.json.
"""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS = 20


def cnn(keras: Any) -> Any:
    """Two convolutions, a regularizer, pooling; trained by Adam."""
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Conv2D(
                4,
                3,
                padding="same",
                activation="relu",
                input_shape=(8, 8, 2),
                kernel_regularizer=keras.regularizers.l2(0.01),
            ),
            layers.MaxPooling2D(),
            layers.Conv2D(6, 3),
            layers.Activation("tanh"),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model


def masked_lstm(keras: Any) -> Any:
    """Return a functional model: two recurrent layers behind a mask, beside an input of numbers."""
    layers = keras.layers
    words, numbers = keras.layers.Input((7,), dtype="int32"), layers.Input((3,))
    x = layers.Embedding(11, 5, mask_zero=True)(words)
    x = layers.LSTM(6, return_sequences=True, recurrent_activation="hard_sigmoid")(x)
    x = layers.LSTM(4, recurrent_activation="hard_sigmoid", go_backwards=True)(x)
    x = layers.concatenate([x, layers.Dense(2, activation="relu")(numbers)])
    model = keras.models.Model([words, numbers], layers.Dense(1, activation="sigmoid")(x))
    model.compile(keras.optimizers.RMSprop(0.01), "binary_crossentropy")
    return model


def normalized(keras: Any) -> Any:
    """Batch normalization of images and of features; trained by Nesterov's momentum."""
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Conv2D(4, 3, strides=2, input_shape=(8, 8, 2), use_bias=False),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.Flatten(),
            layers.Dense(5),
            layers.BatchNormalization(momentum=0.5, epsilon=1e-2),
            layers.Dense(2),
        ]
    )
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), "mse")
    return model


def gated(keras: Any) -> Any:
    """Gates in both directions, unrolled too, and a dense layer for each step; by Adamax."""
    layers = keras.layers
    x = inputs = layers.Input((5, 3))
    gates = {"recurrent_activation": "hard_sigmoid", "reset_after": False}
    x = layers.Bidirectional(layers.GRU(3, return_sequences=True, **gates))(x)
    x = layers.TimeDistributed(layers.Dense(4, activation="elu"))(x)
    x = layers.SimpleRNN(4, unroll=True)(x)
    model = keras.models.Model(inputs, layers.Dense(1)(x))
    model.compile(keras.optimizers.Adamax(0.02), "mae")
    return model


MODELS = {"cnn": cnn, "gated": gated, "masked_lstm": masked_lstm, "normalized": normalized}


def data(name: str, random: np.random.RandomState) -> tuple[Any, Any]:
    """Return inputs and targets of 16 examples."""
    images = random.randn(16, 8, 8, 2)
    if name == "cnn":
        return images, np.eye(3)[random.randint(0, 3, 16)]
    if name == "normalized":
        return images, random.randn(16, 2)
    if name == "gated":
        return random.randn(16, 5, 3), random.randn(16, 1)
    words = random.randint(1, 11, (16, 7))
    words[np.arange(7) >= random.randint(2, 8, (16, 1))] = 0  # behind the end
    return [words, random.randn(16, 3)], random.randint(0, 2, (16, 1)).astype(float)


def begin(name: str, keras: Any) -> tuple[Any, Any, Any]:
    """Return the model with its first weights, inputs, targets."""
    random = np.random.RandomState(0)
    model = MODELS[name](keras)
    weights = [0.3 * random.randn(*weight.shape) for weight in model.get_weights()]
    variances = [layer for layer in model.layers if type(layer).__name__ == "BatchNormalization"]
    model.set_weights(weights)
    for layer in variances:
        gamma, beta, mean, variance = layer.get_weights()
        layer.set_weights([1 + gamma, beta, mean, 1 + variance**2])
    return (model, *data(name, random))


def values(name: str, keras: Any) -> dict[str, list[float]]:
    """Return the model's first predictions, its losses in 20 steps, and sums of its trained
    weights.
    """
    model, x, y = begin(name, keras)
    predicted = model.predict(x, batch_size=8)
    losses = [float(np.ravel(model.train_on_batch(x, y))[0]) for _ in range(STEPS)]
    trained = [weight for layer in model.layers for weight in trained_weights(layer)]
    return {
        "predicted": np.ravel(predicted).astype(float).tolist(),
        "losses": losses,
        "weights": [float(np.abs(weight).sum()) for weight in trained],
    }


def trained_weights(layer: Any) -> list[Any]:
    """Return a layer's weights without moving averages, which old Keras corrects for their start at
    0.
    """
    weights: list[Any] = layer.get_weights()
    return weights[:2] if type(layer).__name__ == "BatchNormalization" else weights

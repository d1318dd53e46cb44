"""Networks that papers describe, by the functional API of `tf.keras`: for tests and comparisons.

Each function takes TensorFlow, or this package, and its sizes; without sizes it gives the network
of the paper. ci/against_tensorflow/keras_architectures.py builds them by both.
"""

from __future__ import annotations

from typing import Any


def unet(tf: Any, size: int = 256, filters: int = 64, depth: int = 4, dropout: float = 0.5) -> Any:
    """U-Net for images of one channel and two classes: Ronneberger et al. 2015, padded."""
    layers = tf.keras.layers

    def convolution(x: Any, channels: int, width: int = 3) -> Any:
        return layers.Conv2D(channels, width, activation="relu", padding="same")(x)

    inputs = tf.keras.Input((size, size, 1))
    x, kept = inputs, []
    for level in range(depth):
        x = convolution(convolution(x, filters << level), filters << level)
        if level == depth - 1:
            x = layers.Dropout(dropout)(x)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = convolution(convolution(x, filters << depth), filters << depth)
    x = layers.Dropout(dropout)(x)
    for level in reversed(range(depth)):
        x = convolution(layers.UpSampling2D()(x), filters << level, 2)
        x = layers.concatenate([kept[level], x])
        x = convolution(convolution(x, filters << level), filters << level)
    outputs = layers.Conv2D(1, 1, activation="sigmoid")(convolution(x, 2))
    return tf.keras.Model(inputs, outputs, name="unet")


def attention(tf: Any, x: Any, heads: int) -> Any:
    """Return each of `x`, [batch, length, features], looks at all of them: several heads."""
    layers, features = tf.keras.layers, int(x.shape[-1])

    def split() -> Any:
        parts = layers.Reshape((-1, heads, features // heads))(layers.Dense(features)(x))
        return layers.Permute((2, 1, 3))(parts)

    query, key, value = split(), split(), split()
    scores = layers.Lambda(
        lambda pair: tf.matmul(*pair, transpose_b=True) * (features // heads) ** -0.5
    )([query, key])
    seen = layers.Lambda(lambda pair: tf.matmul(*pair))([layers.Softmax()(scores), value])
    joined = layers.Reshape((-1, features))(layers.Permute((2, 1, 3))(seen))
    return layers.Dense(features)(joined)


def transformer_encoder(
    tf: Any,
    blocks: int = 6,
    features: int = 512,
    heads: int = 8,
    hidden: int = 2048,
    dropout: float = 0.1,
) -> Any:
    """Return the encoder of Vaswani et al. 2017, without the embedding; layers are normalized
    last.
    """
    layers = tf.keras.layers

    def add(x: Any, change: Any) -> Any:
        return layers.LayerNormalization(epsilon=1e-6)(
            layers.Add()([x, layers.Dropout(dropout)(change)])
        )

    x = inputs = tf.keras.Input((None, features))
    for _ in range(blocks):
        x = add(x, attention(tf, x, heads))
        x = add(x, layers.Dense(features)(layers.Dense(hidden, activation="relu")(x)))
    return tf.keras.Model(inputs, x, name="transformer_encoder")


def translator(tf: Any, words: int = 8000, units: int = 256) -> Any:
    """LSTMs from words to words, where the second looks at the first: Luong et al. 2015."""
    layers = tf.keras.layers
    source, target = tf.keras.Input((None,), name="source"), tf.keras.Input((None,), name="target")
    embedding = {"mask_zero": True, "input_dim": words, "output_dim": units}
    encoded, *state = layers.LSTM(units, return_sequences=True, return_state=True)(
        layers.Embedding(**embedding, name="source_words")(source)
    )
    decoded = layers.LSTM(units, return_sequences=True)(
        layers.Embedding(**embedding, name="target_words")(target), initial_state=state
    )
    context = layers.Attention()([decoded, encoded])
    joined = layers.Concatenate()([decoded, context])
    hidden = layers.TimeDistributed(layers.Dense(units, activation="tanh"))(joined)
    outputs = layers.Dense(words, activation="softmax")(hidden)
    return tf.keras.Model([source, target], outputs, name="translator")

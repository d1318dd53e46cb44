"""A convolutional network that trains on one device, several devices or several processes.

    python -m tests.library.distribute.convolution_program SETTINGS

SETTINGS is a JSON object: TF_CONFIG, and `trainings`, a list of objects: `by` ("keras" or "loop"),
`gpus` (virtual ones), `steps`, `save` and `restore` (checkpoints). Prints the losses as JSON.
Started by test_convolution_training, which also calls `train`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

import gpugraph as tf

BATCH, SIZE = 16, 8
IMAGES = np.random.default_rng(0).uniform(size=(BATCH, SIZE, SIZE, 1)).astype(np.float32)
LABELS = (IMAGES.mean((1, 2, 3)) * 40).astype(np.int32) % 4


def strategy_for(gpus: int) -> Any:
    """Return the strategy for TF_CONFIG's cluster, for virtual GPUs, or for one device."""
    if "TF_CONFIG" in os.environ:
        return tf.distribute.experimental.MultiWorkerMirroredStrategy()
    if not gpus:
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    return tf.distribute.MirroredStrategy([f"/gpu:{number}" for number in range(gpus)])


def layers(seed: int = 1) -> list[Any]:
    """Return the layers of the network."""
    keras = tf.keras
    initial = keras.initializers.RandomNormal(stddev=0.3, seed=seed)
    return [
        keras.layers.Conv2D(4, 3, activation="relu", kernel_initializer=initial, name="conv",
                            input_shape=(SIZE, SIZE, 1)),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(4, kernel_initializer=initial, name="logits"),
    ]  # fmt: skip


def by_keras(strategy: Any, session: Any, settings: dict[str, Any]) -> list[float]:
    """Train by `fit`; return the loss of each batch."""
    tf.keras.backend.set_session(session)
    with strategy.scope():
        model = tf.keras.Sequential([*layers(), tf.keras.layers.Softmax()])
        optimizer = tf.keras.optimizers.SGD(0.1, 0.9)
        model.compile(optimizer, "sparse_categorical_crossentropy", ["accuracy"])
    if settings.get("restore"):
        model.load_weights(settings["restore"])
    epochs = settings["steps"]
    history = model.fit(IMAGES, LABELS, BATCH, epochs, verbose=0, shuffle=False).history
    assert len(model.predict(IMAGES, BATCH)) == BATCH
    if settings.get("save") and strategy.extended.should_checkpoint:
        model.save_weights(settings["save"])
    return [float(loss) for loss in history["loss"]]


def by_loop(strategy: Any, session: Any, settings: dict[str, Any]) -> list[float]:
    """Train by a loop of one's own; return the loss of each step."""
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        data = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).repeat().batch(BATCH)
        iterator = strategy.make_dataset_iterator(data)
        network = layers()

        def fn(batch: Any) -> Any:
            hidden, labels = batch
            for layer in network:
                hidden = layer(hidden)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden)
            loss = tf.reduce_sum(losses) / BATCH
            train = optimizer.minimize(loss, global_step=step)
            with tf.control_dependencies([train]):
                return tf.identity(loss)

        values = strategy.experimental_run_v2(fn, (iterator.get_next(),))
        total = strategy.reduce("SUM", values, axis=None)
        saver = tf.train.Saver()
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        if settings.get("restore"):
            saver.restore(session, settings["restore"])
        losses = [float(session.run(total)) for _ in range(settings["steps"])]
        if settings.get("save") and strategy.extended.should_checkpoint:
            saver.save(session, settings["save"])
        return losses


def train(settings: dict[str, Any], target: str = "") -> list[float]:
    """Return the losses of a training with these settings."""
    with tf.Graph().as_default():
        strategy = strategy_for(settings.get("gpus", 0))
        options = tf.GPUOptions(virtual_gpus=settings.get("gpus", 0))
        config = strategy.update_config_proto(tf.ConfigProto(gpu_options=options))
        with tf.Session(target, config=config) as session:
            kinds = {"keras": by_keras, "loop": by_loop}
            return kinds[settings["by"]](strategy, session, settings)


def main() -> None:
    """Run the trainings as a task of the cluster in the settings, and print the losses."""
    settings = json.loads(sys.argv[1])
    os.environ["TF_CONFIG"] = json.dumps(settings["TF_CONFIG"])
    server = tf.contrib.distribute.run_standard_tensorflow_server()
    losses = [train(each, server.target) for each in settings["trainings"]]
    print(json.dumps(losses), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

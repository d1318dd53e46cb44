"""Arguments of Keras 1, which programs with `import keras` may use."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph
from gpugraph.tensorflow_import.old_keras import keras_1_arguments

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("keras") is not None, reason="Keras is installed"
)

layers = gpugraph.keras.layers


@pytest.fixture(autouse=True)
def old_arguments() -> Iterator[None]:
    with gpugraph.as_tensorflow(), gpugraph.Graph().as_default(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import keras  # noqa: F401, PLC0415

        yield
    assert not keras_1_arguments._replaced


@pytest.mark.parametrize(
    ("layer", "old", "new"),
    [
        ("Dense", {"output_dim": 3, "init": "uniform", "W_regularizer": "l2", "bias": False},
         {"units": 3, "kernel_initializer": "uniform", "kernel_regularizer": "l2",
          "use_bias": False}),
        ("Conv2D", {"nb_filter": 4, "nb_row": 3, "nb_col": 2, "border_mode": "same",
                    "subsample": (2, 2), "dim_ordering": "tf"},
         {"filters": 4, "kernel_size": (3, 2), "padding": "same", "strides": (2, 2),
          "data_format": "channels_last"}),
        ("Conv1D", {"nb_filter": 4, "filter_length": 3, "subsample_length": 2},
         {"filters": 4, "kernel_size": 3, "strides": 2}),
        ("LSTM", {"output_dim": 5, "inner_init": "orthogonal", "dropout_W": 0.1,
                  "dropout_U": 0.2, "inner_activation": "sigmoid", "consume_less": "gpu"},
         {"units": 5, "recurrent_initializer": "orthogonal", "dropout": 0.1,
          "recurrent_dropout": 0.2, "recurrent_activation": "sigmoid", "implementation": 2}),
        ("MaxPooling1D", {"pool_length": 2, "stride": 3}, {"pool_size": 2, "strides": 3}),
        ("BatchNormalization", {"mode": 0, "beta_init": "ones"}, {"beta_initializer": "ones"}),
        ("Dropout", {"p": 0.5}, {"rate": 0.5}),
        ("GaussianNoise", {"sigma": 0.5}, {"stddev": 0.5}),
    ],
)  # fmt: skip
def test_layers(layer: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    create = getattr(layers, layer)
    first, second = create(name="same", **old), create(name="same", **new)
    assert first.get_config() == second.get_config()


def test_sizes_of_a_kernel_by_position() -> None:
    assert layers.Conv2D(8, 3, 2).kernel_size == (3, 2)
    assert layers.Conv2D(8, (3, 2), 2).strides == (2, 2)
    assert layers.Conv2D(8, 3).kernel_size == (3, 3)
    assert layers.Conv3D(8, 3, 2, 1).kernel_size == (3, 2, 1)


def test_models_are_trained() -> None:
    x, y = np.ones((8, 3), "f"), np.ones((8, 1), "f")
    inputs = layers.Input((3,))
    model = gpugraph.keras.Model(input=inputs, output=layers.Dense(output_dim=1)(inputs))
    model.compile("sgd", "mse")
    assert len(model.fit(x, y, nb_epoch=2, verbose=0).history["loss"]) == 2
    history = model.fit_generator(
        iter([(x, y)] * 9), samples_per_epoch=2, nb_epoch=3, verbose=0, max_q_size=1
    )
    assert len(history.history["loss"]) == 3


def test_a_weight_whose_shape_comes_first() -> None:
    class Scale(layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.w = self.add_weight((3,), initializer="ones", name="scale")

        def call(self, inputs: Any) -> Any:
            return inputs * self.w

    layer = Scale()
    layer(gpugraph.ones([2, 3]))
    assert layer.w.shape == (3,) and layer.w.name.endswith("scale:0")


def test_other_words_are_refused_as_before() -> None:
    with pytest.raises(TypeError, match="Keyword argument not understood: no_such_word"):
        layers.Dense(3, no_such_word=1)
    with pytest.warns(UserWarning, match="Update your `Dense` call to the Keras 2 API: output_dim"):
        layers.Dense(output_dim=3)

"""Files of Keras 1, of Keras 3 and of other programs are named in errors."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import gpugraph as tf

from .conftest import h5py

models, layers = tf.keras.models, tf.keras.layers

KERAS_1 = {
    "class_name": "Sequential",
    "keras_version": "1.2.2",
    "config": [
        {
            "class_name": "Convolution2D",
            "config": {"name": "c", "nb_filter": 2, "border_mode": "same", "nb_row": 3},
        }
    ],
}
KERAS_1_DENSE = {
    "class_name": "Sequential",
    "keras_version": "1.0.8",
    "config": [{"class_name": "Dense", "config": {"output_dim": 2, "W_regularizer": None}}],
}
KERAS_3 = {
    "module": "keras.src.models.functional",
    "class_name": "Functional",
    "registered_name": "Functional",
    "config": {
        "name": "f",
        "trainable": True,
        "layers": [
            {
                "module": "keras.layers",
                "class_name": "InputLayer",
                "config": {"batch_shape": [None, 3], "dtype": "float32", "name": "i"},
                "registered_name": None,
                "name": "i",
                "inbound_nodes": [],
            }
        ],
        "input_layers": [["i", 0, 0]],
        "output_layers": [["i", 0, 0]],
    },
}


def write_model(path, config, version):
    with h5py.File(path, "w") as file:
        if version is not None:
            file.attrs["keras_version"] = version
        file.attrs["model_config"] = json.dumps(config)
        file.create_group("model_weights")


def recurrent():
    return tf.keras.Sequential([layers.LSTM(2, input_shape=(4, 3))])


@pytest.mark.parametrize(
    ("config", "version", "words"),
    [
        (KERAS_1, "1.2.2", "Unknown layer: Convolution2D.*The model is by Keras 1.2.2, whose"),
        (KERAS_1, None, "Unknown layer: Convolution2D.*The model is by Keras 1, whose layers"),
        (KERAS_1_DENSE, "1.0.8", "'units'. The model is by Keras 1.0.8"),
        (KERAS_3, "3.3.3", "batch_shape. The model is by Keras 3.3.3, which writes other"),
        (KERAS_3, "2.2.4-tf", "batch_shape$"),
    ],
)
def test_models_say_which_keras_wrote_them(config, version, words, tmp_path):
    write_model(tmp_path / "m.h5", config, version)
    with pytest.raises((ValueError, TypeError), match=words):
        models.load_model(tmp_path / "m.h5")
    text = json.dumps({**config, "keras_version": version})
    with pytest.raises((ValueError, TypeError), match=words):
        models.model_from_json(text)


@pytest.mark.parametrize(("version", "named"), [("1.2.2", "1.2.2"), (None, "1"), ("2.1.6", None)])
def test_weights_say_so_too(version, named, tmp_path):
    """An LSTM of Keras 1 has twelve variables."""
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file.attrs["layer_names"] = [b"lstm_1"]
        if version is not None:
            file.attrs["keras_version"] = version
        group = file.create_group("lstm_1")
        group.attrs["weight_names"] = [f"w{number}".encode() for number in range(12)]
        for number in range(12):
            group[f"w{number}"] = np.ones((2, 2))
    with pytest.raises(ValueError, match="expects 3 weights, but the saved weights") as raised:
        recurrent().load_weights(tmp_path / "w.h5")
    assert (f"The model is by Keras {named}, whose" in str(raised.value)) == (named is not None)
    assert "by Keras" in str(raised.value) or named is None


def test_weights_in_the_layout_of_keras_3(tmp_path):
    with h5py.File(tmp_path / "m.weights.h5", "w") as file:
        file["layers/lstm/cell/vars/0"] = np.ones((2, 2))
    with pytest.raises(ValueError, match="The model is by Keras 3"):
        recurrent().load_weights(tmp_path / "m.weights.h5")


def test_weights_that_fit_are_read_whoever_wrote_them(tmp_path):
    model = recurrent()
    model.save_weights(tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5", "r+") as file:
        file.attrs["keras_version"] = "1.2.2"
    other = recurrent()
    other.load_weights(tmp_path / "w.h5")
    for one, two in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_archives_of_keras_3_are_named(tmp_path):
    path = str(tmp_path / "m.keras")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(KERAS_3))
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.3.3"}))
        archive.writestr("model.weights.h5", b"")
    for load in (models.load_model, recurrent().load_weights):
        with pytest.raises(OSError, match=r"it is a `.keras` archive by Keras 3.3.3"):
            load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", b"")
    with pytest.raises(OSError, match=r"as HDF5: .* \(it is a zip archive\)$"):
        models.load_model(path)


def test_saved_models_are_named(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(OSError, match=r"it is a SavedModel: `tf.saved_model.load"):
        models.load_model(str(tmp_path))
    (tmp_path / "saved_model.pb").unlink()
    with pytest.raises(OSError, match=r"Is a directory: '.*'$"):
        models.load_model(str(tmp_path))

"""Whole models in files, and as JSON: round trips, code that is not run, errors."""

from __future__ import annotations

import base64
import json
import marshal

import numpy as np
import pytest

import gpugraph as tf

from .conftest import Affine, Input, Model, h5py, layers, two_layers

models = tf.keras.models


def run(model, array):
    return tf.keras.backend.function([model.input], [model.output])([array])[0]


def test_a_model_comes_back_with_its_variables(tmp_path, capsys):
    path = str(tmp_path / "model.h5")
    model = two_layers()
    model.save(path)
    loaded = models.load_model(path)
    assert loaded.get_config() == model.get_config()
    array = np.ones([2, 4], np.float32)
    np.testing.assert_array_equal(run(loaded, array), run(model, array))
    with h5py.File(path) as file:
        assert json.loads(file.attrs["model_config"])["class_name"] == "Model"
    assert "No training configuration found" in capsys.readouterr().err


def test_a_row_of_layers(tmp_path):
    model = tf.keras.Sequential([Affine(3, input_shape=(4,)), layers.Activation("tanh")])
    models.save_model(model, tmp_path / "model.h5")
    loaded = models.load_model(tmp_path / "model.h5", compile=False)
    array = np.ones([2, 4], np.float32)
    np.testing.assert_array_equal(run(loaded, array), run(model, array))


def test_json_has_no_variables():
    model = two_layers()
    record = json.loads(model.to_json(indent=1))
    assert record["class_name"] == "Model" and record["keras_version"] == "2.2.4-tf"
    assert models.model_from_json(model.to_json()).get_config() == model.get_config()
    with pytest.raises(RuntimeError, match="to_yaml"):
        model.to_yaml()
    with pytest.raises(RuntimeError, match="model_from_yaml"):
        models.model_from_yaml("a: b")
    with pytest.raises(TypeError, match=r"Sequential\.from_config"):
        models.model_from_config([])


def double(value):
    return value * 2


def lambda_model(function):
    inputs = Input((4,))
    return Model(inputs, layers.Lambda(function, name="doubled")(inputs))


def test_code_in_a_file_is_not_run_unless_asked_for(tmp_path):
    factor = 3
    path = tmp_path / "model.h5"
    lambda_model(lambda value: value * factor).save(path)
    with pytest.raises(
        ValueError, match=r"Lambda layer doubled, which is Python code.*safe_mode=False"
    ):
        models.load_model(path, compile=False)
    loaded = models.load_model(path, compile=False, safe_mode=False)
    np.testing.assert_array_equal(run(loaded, np.ones([1, 4], np.float32)), [[3] * 4])


def test_a_named_function_is_passed(tmp_path):
    path = tmp_path / "model.h5"
    lambda_model(double).save(path)
    with pytest.raises(ValueError, match=r"Unknown function of the Lambda layer doubled: double"):
        models.load_model(path, compile=False, safe_mode=False)
    loaded = models.load_model(path, {"double": double}, compile=False)
    np.testing.assert_array_equal(run(loaded, np.ones([1, 4], np.float32)), [[2] * 4])


def test_unknown_classes_are_named(tmp_path):
    two_layers().save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5", "r+") as file:
        text = file.attrs["model_config"].replace("Affine", "Other")
        file.attrs["model_config"] = text
    with pytest.raises(ValueError, match=r"Unknown layer: Other. Pass it as custom_objects="):
        models.load_model(tmp_path / "model.h5")


def test_what_is_refused(tmp_path):
    model = two_layers()
    with pytest.raises(NotImplementedError, match="simple_save"):
        model.save(tmp_path / "model", save_format="tf")
    model.save_weights(tmp_path / "weights.h5")
    with pytest.raises(ValueError, match="No model found in config file"):
        models.load_model(tmp_path / "weights.h5")
    model.save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5", "r+") as file:
        file.attrs["model_config"] = b'{"class_name": '
    with pytest.raises(ValueError, match="Expecting value"):
        models.load_model(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5", "r+") as file:
        file.attrs["model_config"] = b"[" * 30000
    with pytest.raises(ValueError, match="nested too deeply"):
        models.load_model(tmp_path / "model.h5")


def test_configurations_by_later_versions(tmp_path):
    model = two_layers()
    record = json.loads(model.to_json())
    record["class_name"] = "Functional"
    record["config"] |= {"trainable": True}
    for layer in record["config"]["layers"]:
        layer["module"] = "keras.layers"
        layer["config"] |= {"dtype": {"class_name": "Policy", "config": {"name": "float32"}}}
    record["config"].pop("trainable")
    assert models.model_from_json(json.dumps(record)).get_config()["name"] == model.name
    dense = {"class_name": "Conv2D", "config": {**layers.Conv2D(2, 3).get_config(), "groups": 2}}
    with pytest.raises(TypeError, match="Keyword argument not understood: groups"):
        models.model_from_config(dense)


def test_a_trained_model_goes_on_where_it_was(tmp_path):
    random = np.random.RandomState(0)
    x, y = random.rand(32, 4).astype(np.float32), random.randint(0, 3, 32)

    def trained(model, epochs):
        return model.fit(x, y, epochs=epochs, batch_size=8, shuffle=False, verbose=0)

    model = tf.keras.Sequential([layers.Dense(8, "tanh", input_shape=(4,)), layers.Dense(3)])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    trained(model, 2)
    model.save(tmp_path / "model.h5")
    again = models.load_model(tmp_path / "model.h5")
    first, second = trained(model, 2).history, trained(again, 2).history
    assert first == second and len(again.optimizer.get_weights()) == 9


def test_code_of_cells_in_a_file_is_not_run_either():
    cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(3), lambda i, o: i + 2 * o)
    assert type(cell).from_config(cell.get_config()) is not None  # of the program itself
    record = {"class_name": "ResidualWrapper", "config": cell.get_config()}
    objects = {"ResidualWrapper": type(cell)}
    assert models.model_from_json(json.dumps(record), objects) is not None  # of this process
    record["config"]["residual_fn"] = foreign_bytecode("lambda i, o: o")
    with pytest.raises(ValueError, match="residual_fn of a cell, which is Python code"):
        models.model_from_json(json.dumps(record), objects)


def foreign_bytecode(text):
    """Return the code of a function as another process puts it into a configuration."""
    code = marshal.dumps(eval(text).__code__)
    return [base64.encodebytes(code).decode("ascii"), None, None]


def named(factor):
    def scale(value):
        return value * factor

    return scale


def test_named_functions_of_this_process_are_found(tmp_path):
    value = np.ones((1, 4), np.float32)
    scale = named(5.0)
    model = lambda_model(scale)
    config, text = model.get_config(), model.to_json()
    for copy in (
        Model.from_config(config),
        models.model_from_json(text),
        models.clone_model(model),
    ):
        np.testing.assert_array_equal(copy.predict(value), [[5.0] * 4])
    wrapped = layers.TimeDistributed(layers.Lambda(scale))
    again = layers.TimeDistributed.from_config(wrapped.get_config())
    assert again.layer.function is scale
    model.save(tmp_path / "named.h5")
    with pytest.raises(ValueError, match="Unknown function of the Lambda layer doubled: scale"):
        models.load_model(tmp_path / "named.h5")
    other = lambda_model(named(6.0))
    for build in (other.to_json, model.to_json):
        text = build()
        with pytest.raises(ValueError, match="Unknown function of the Lambda layer doubled: scale"):
            models.model_from_json(text)


def test_code_of_lambdas_is_run_where_this_process_has_written_it(tmp_path):
    x = tf.keras.Input((2,))
    layer = tf.keras.layers.Lambda(lambda v: v * 3.0)
    model, value = tf.keras.Model(x, layer(x)), np.ones((1, 2))
    assert tf.keras.layers.Lambda.from_config(layer.get_config()).function(2.0) == 6.0
    for copy in (
        tf.keras.Model.from_config(model.get_config()),
        models.model_from_json(model.to_json()),
        models.clone_model(model),
    ):
        np.testing.assert_array_equal(copy.predict(value), [[3.0, 3.0]])
    model.save(tmp_path / "lambda.h5")
    with pytest.raises(ValueError, match="The code of a file is not run"):
        models.load_model(tmp_path / "lambda.h5")
    config = model.get_config()
    config["layers"][1]["config"]["function"] = foreign_bytecode("lambda v: v * 4.0")
    for build in (
        lambda: tf.keras.Model.from_config(config),
        lambda: models.model_from_json(json.dumps({"class_name": "Model", "config": config})),
    ):
        with pytest.raises(ValueError, match="The code of a file is not run"):
            build()

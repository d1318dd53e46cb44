"""Configurations that lack a required field, or have a wrong value in it: ValueErrors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf

layers = tf.keras.layers


def sequential() -> Any:
    return tf.keras.Sequential([layers.Dense(2, input_shape=(3,))])


def network() -> Any:
    x = tf.keras.Input((3,), name="x")
    return tf.keras.Model(x, layers.Dense(2, name="y")(x))


def recurrent() -> Any:
    cells = [layers.LSTMCell(2), layers.LSTMCell(2)]
    inner = layers.TimeDistributed(layers.Dense(2))
    outer = layers.RNN(cells, return_sequences=True, input_shape=(4, 3))
    return tf.keras.Sequential([outer, inner])


def without(*path: Any) -> Callable[[Any], None]:
    def change(config: Any) -> None:
        for step in path[:-1]:
            config = config[step]
        del config[path[-1]]

    return change


def other(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(config: Any) -> None:
        for step in path[:-1]:
            config = config[step]
        config[path[-1]] = value

    return change


LAYER = ("config", "layers", 1)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (sequential, without("config", "layers"), "the config of Sequential has no 'layers'"),
        (sequential, other(5, "config", "layers"), "layers of Sequential are not a list, but 5"),
        (sequential, other(5, "config"), "the config of Sequential is not a dictionary, but 5"),
        (sequential, other(["a"], "class_name"), r"a class_name is \['a'\]"),
        (sequential, other(None, "config", "layers", 0, "config"), "of Dense is not a dictionary"),
        (network, without("config", "layers"), "the config of a network has no 'layers'"),
        (network, without("config", "input_layers"), "a network has no 'input_layers'"),
        (network, without(*LAYER, "name"), "the config of a layer of a network has no 'name'"),
        (network, without(*LAYER, "inbound_nodes"), "a network has no 'inbound_nodes'"),
        (network, other([], *LAYER, "name"), r"the name of a layer is \[\]"),
        (network, other(True, *LAYER, "inbound_nodes"), "a list of layers or calls, got True"),
        (network, other([[]], *LAYER, "inbound_nodes"), "a layer is called without inputs"),
        (network, other([[["x", 0]]], *LAYER, "inbound_nodes"), r"\['x', 0\] is not a tensor of a"),
        (network, other([[["x", 0, "b"]]], *LAYER, "inbound_nodes"), "is not a tensor of a layer"),
        (network, other([[["x", 0, 0, 1]]], *LAYER, "inbound_nodes"), "arguments of a call are no"),
        (network, other([[["x", 0, 7, {}]]], *LAYER, "inbound_nodes"), "but no output 7"),
        (network, other([["z", 0, 0]], "config", "output_layers"), "there is no layer 'z'"),
        (network, other(3, "config", "output_layers"), "a list of layers or calls, got 3"),
        (recurrent, without(*LAYER, "config", "layer"), "of TimeDistributed has no 'layer'"),
        (recurrent, without("config", "layers", 0, "config", "cell"), "of RNN has no 'cell'"),
        (
            recurrent,
            without("config", "layers", 0, "config", "cell", "config", "cells"),
            "of StackedRNNCells has no 'cells'",
        ),
    ],
)
def test_it_is_a_value_error(
    make: Callable[[], Any], change: Callable[[Any], None], message: str
) -> None:
    config = json.loads(make().to_json())
    change(config)
    with pytest.raises(ValueError, match=f"Improper config format: .*{message}"):
        tf.keras.models.model_from_json(json.dumps(config))


def test_a_training_without_optimizer(tmp_path: Any) -> None:
    h5py = pytest.importorskip("h5py")
    model = sequential()
    model.compile("adam", "mse")
    path = tmp_path / "model.h5"
    model.save(path)
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["training_config"])
        del config["optimizer_config"]
        file.attrs["training_config"] = json.dumps(config)
        with pytest.raises(ValueError, match="the config of a training has no 'optimizer_config'"):
            tf.keras.models.load_model(file)


def test_a_shape_beyond_int32_is_no_overflow() -> None:
    x = tf.placeholder(tf.float32, [None, 1 << 40])
    assert tf.shape(tf.placeholder(tf.float32, [2, 1 << 40])).op.type == "Shape"
    assert tf.shape(x, out_type=tf.int64).dtype is tf.int64

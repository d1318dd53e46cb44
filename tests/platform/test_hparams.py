"""Hyperparameters: values from texts, dicts and JSON, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


def hparams():
    return tf.contrib.training.HParams(
        rate=0.1, units=64, name="net", layers=[1, 2, 3], dropout=True, decay=None
    )


def test_values_are_attributes():
    params = hparams()
    assert params.rate == 0.1 and params.layers == [1, 2, 3] and "units" in params
    assert params.values()["name"] == "net"
    params.add_hparam("more", 1)
    params.del_hparam("rate")
    assert params.more == 1 and "rate" not in params and params.get("rate", 3) == 3


@pytest.mark.parametrize(
    "text, expected",
    [
        ("rate=3", {"rate": 3.0}),
        ("units=7, name = a b", {"units": 7, "name": "a b"}),
        ("layers=[4,5],dropout=false", {"layers": [4, 5], "dropout": False}),
        ("layers=[4 5, 6,],dropout=2", {"layers": [4, 5, 6], "dropout": True}),
        ("layers[1]=9,layers[0]=8", {"layers": [8, 9, 3]}),
        ("", {}),
    ],
)
def test_texts_are_parsed(text, expected):
    params = hparams()
    before = params.values()
    assert params.parse(text) is params
    assert params.values() == {**before, **expected}
    assert type(params.rate) is float


@pytest.mark.parametrize(
    "text, message",
    [
        ("unknown=1", "Unknown hyperparameter"),
        ("units=1.5", "Could not parse hparam 'units' of type 'int' with value '1.5'"),
        ("dropout=maybe", "Could not parse hparam 'dropout'"),
        ("layers=1", "Must pass a list for multi-valued parameter"),
        ("units=[1,2]", "Must not pass a list for single-valued parameter"),
        ("layers[7]=1", "3 items"),
        ("units=1,units=2", "Multiple assignments to variable 'units'"),
        ("=1", "Malformed hyperparameter value"),
    ],
)
def test_texts_are_refused(text, message):
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        hparams().parse(text)


def test_dicts_and_json():
    params = hparams().override_from_dict({"units": 3, "rate": 1})
    assert params.units == 3 and params.rate == 1.0
    other = hparams().parse_json(params.to_json())
    assert other.values() == params.values()
    with pytest.raises(KeyError):
        params.override_from_dict({"unknown": 1})
    for name, value in (
        ("units", 1.5),
        ("units", "1"),
        ("dropout", 1),
        ("name", 2),
        ("rate", None),
    ):
        with pytest.raises(ValueError, match=f"Could not cast hparam '{name}'"):
            params.set_hparam(name, value)


def test_values_may_be_numpy_numbers():
    params = hparams().override_from_dict({"rate": np.float32(0.5), "units": np.int64(3)})
    assert params.rate == 0.5 and type(params.rate) is float
    assert params.units == 3 and type(params.units) is int
    with pytest.raises(ValueError, match="Could not cast hparam 'units'"):
        params.set_hparam("units", np.float32(3.0))


def test_its_text_can_be_parsed_again():
    params = tf.contrib.training.HParams(rate=0.5, name="net", layers=[1, 2])
    assert str(params) == "rate=0.5,name=net,layers=[1, 2]"
    assert repr(params) == "HParams([('layers', [1, 2]), ('name', 'net'), ('rate', 0.5)])"
    other = tf.contrib.training.HParams(rate=1.0, name="", layers=[0])
    assert other.parse(str(params)).values() == params.values()


def test_names_and_lists_are_checked():
    with pytest.raises(ValueError, match="Hyperparameter name is reserved: parse"):
        tf.contrib.training.HParams(parse=1)
    with pytest.raises(ValueError, match="cannot be empty"):
        tf.contrib.training.HParams(items=[])
    with pytest.raises(ValueError, match="incompatible with passed default"):
        hparams().get("units", "text")


def test_the_old_name_of_override_and_the_message_that_is_not_there():
    hparams = tf.contrib.training.HParams(rate=0.1, units=3)
    assert hparams.set_from_map({"units": 5}) is hparams
    assert hparams.values() == {"rate": 0.1, "units": 5}
    with pytest.raises(NotImplementedError, match=r"HParamDef.*to_json"):
        hparams.to_proto()

"""Modules: their names, variables, submodules and name scopes."""

from __future__ import annotations

import pytest

import gpugraph as tf


class Linear(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.w = tf.Variable(1.0, name="w")
        self.b = tf.Variable(2.0, trainable=False, name="b")

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.multiply(x, self.w, name="product")


class Network(tf.Module):
    def __init__(self):
        super().__init__(name="net")
        self.parts = {"one": Linear(), "others": [Linear("second")]}


def test_a_module_knows_what_is_in_its_attributes():
    with tf.Graph().as_default():
        network = Network()
        one, second = network.parts["one"], network.parts["others"][0]
        assert (network.name, one.name, second.name) == ("net", "linear", "second")
        assert network.submodules == (one, second) and one.submodules == ()
        assert network.variables == (one.b, one.w, second.b, second.w)
        assert network.trainable_variables == (one.w, second.w)
        assert one(3.0).op.name == "linear/product" and second(3.0).op.name == "second/product"
        with network.name_scope as scope:
            assert scope == "net/"


def test_a_name_is_an_identifier():
    with pytest.raises(ValueError, match="is not a valid module name"):
        tf.Module("a/b")

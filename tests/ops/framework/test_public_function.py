"""Public functions that are their op's own: their names, arguments, and modules."""

from __future__ import annotations

import inspect
import sys
from typing import Any, get_type_hints

import pytest

import gpugraph as tf
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.tensor_conversion import constant

FUNCTIONS = {
    name: value
    for name, value in vars(tf.math).items()
    if inspect.isfunction(value) and value.__code__.co_filename.endswith(">")
}


def test_many_public_functions_are_their_ops_own():
    assert {"add", "less", "exp", "logical_not"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_is_found_where_it_says_it_is(name):
    function = FUNCTIONS[name]
    module = sys.modules[function.__module__]
    assert getattr(module, function.__qualname__) is function
    assert function.__doc__


def test_parameters_are_the_ops_inputs_and_a_name():
    assert list(inspect.signature(tf.add).parameters) == ["x", "y", "name"]
    assert inspect.signature(tf.add).parameters["name"].default is None
    assert list(inspect.signature(tf.nn.softplus).parameters) == ["features", "name"]
    assert get_type_hints(tf.add) == {"x": Any, "y": Any, "name": str | None, "return": tf.Tensor}
    with tf.Graph().as_default():
        assert tf.nn.softplus(features=1.0, name="soft").op.name == "soft"
        assert tf.add(1, y=2, name="three").op.name == "three"
        assert tf.add(1, 2, "sum").op.name == "sum"
    with pytest.raises(TypeError, match="add"):
        tf.add(1)


def test_an_operation_knows_the_line_of_the_program_that_made_it():
    assert "test_public_function.py" in str(tf.exp(1.0).op.origin)


def test_a_sparse_function_maps_values():
    sparse = tf.SparseTensor([[0, 1]], [4.0], [2, 2])
    assert isinstance(tf.sqrt(sparse), tf.SparseTensor)
    double = public_function(tf.math.exp.__globals__["op_function"], "double")
    assert double(constant(1.0)).op.type == "Exp"

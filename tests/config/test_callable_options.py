"""CallableOptions: lists of names, and connections that are added one by one."""

from __future__ import annotations

import copy

import pytest

from gpugraph.config import CallableOptions, RunOptions, TensorConnection


def test_connections_are_added_as_to_a_message_of_tensorflow():
    options = CallableOptions(fetch=["y:0"])
    connection = options.tensor_connection.add()
    connection.from_tensor = "a:0"
    connection.to_tensor = "x:0"
    options.tensor_connection.add(from_tensor="b:0", to_tensor="z:0")
    assert options.tensor_connection == [
        TensorConnection(from_tensor="a:0", to_tensor="x:0"),
        TensorConnection(from_tensor="b:0", to_tensor="z:0"),
    ]
    assert CallableOptions().tensor_connection == []
    other = copy.deepcopy(options)
    other.tensor_connection.add()
    assert (len(options.tensor_connection), len(other.tensor_connection)) == (2, 3)


def test_a_list_of_connections_is_checked_and_copied():
    connection = TensorConnection(from_tensor="a:0")
    options = CallableOptions(tensor_connection=[connection, {"to_tensor": "x:0"}])
    options.tensor_connection[0].to_tensor = "z:0"
    options.tensor_connection.add()
    assert connection.to_tensor == ""
    assert options.tensor_connection[1] == TensorConnection(to_tensor="x:0")
    with pytest.raises(TypeError, match=r"tensor_connection\[0\] must be a TensorConnection"):
        CallableOptions(tensor_connection=["x:0"])


def test_run_options_are_copied():
    options = CallableOptions()
    options.run_options.CopyFrom(RunOptions(timeout_in_ms=3))
    assert options.run_options.timeout_in_ms == 3

"""Assignment to slices of variables, of both kinds."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

START = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def variable(request):
    return tf.Variable(START, name="v", use_resource=request.param)


def after(variable, change):
    """Return the value before, then the change's result, then the variable's value."""
    with tf.Session() as session:
        session.run(variable.initializer)
        return session.run(change), session.run(variable)


KEYS = {
    "rows": slice(1, 3),
    "steps": slice(None, None, 2),
    "backwards": (slice(None), slice(3, 0, -2)),
    "one element": (1, 2),
    "a column": (Ellipsis, -1),
    "a new axis": (None, slice(0, 2), None),
    "all": Ellipsis,
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_only_the_slice_is_written(variable, key):
    wanted = START.copy()
    value = 50 + np.arange(START[key].size, dtype=np.float32).reshape(START[key].shape)
    wanted[key] = value
    for result in after(variable, variable[key].assign(value)):
        np.testing.assert_array_equal(result, wanted)


def test_values_are_broadcast(variable):
    wanted = START.copy()
    wanted[1:] = [7.0, 8, 9, 10]
    wanted[0] = [5, 5, 2, 6]
    changes = [
        variable[1:].assign([7.0, 8, 9, 10]),
        variable[0, :2].assign(5),
        variable[0, 3].assign([[6.0]]),
    ]
    np.testing.assert_array_equal(after(variable, changes)[1], wanted)


def test_assign_takes_slices(variable):
    update = tf.assign(variable[0, 1:3], [7.0, 8.0])
    assert after(variable, update)[1][0].tolist() == [0, 7, 8, 3]


def test_bounds_that_a_run_tells(variable):
    start = tf.placeholder_with_default(1, [])
    assert after(variable, variable[start:, 0].assign([7.0, 8]))[1][:, 0].tolist() == [0, 7, 8]


def test_nothing_is_asked_of_what_goes_nowhere(variable):
    assert after(variable, variable[2:2].assign(np.ones(7)))[1].tolist() == START.tolist()


def test_names(graph):
    v = tf.Variable(START, name="v", use_resource=False)
    update = v[1:3].assign(3.0)
    assert (update.op.type, update.name) == ("StridedSliceAssign", "strided_slice/_assign:0")
    assert update.dtype.is_ref_dtype
    assert [tensor.name for tensor in update.op.inputs] == [
        "v:0",
        *(f"strided_slice/stack{end}:0" for end in ("", "_1", "_2")),
        "strided_slice/_assign/value:0",
    ]
    assert v[1:3].assign(3.0, name="mine").name == "mine:0"
    resource = tf.Variable(START, use_resource=True)
    changed = resource[0].assign(0.0)
    assert changed.op.type == "ResourceStridedSliceAssign"
    assert changed.op.name == "strided_slice_2/_assign"


def test_refusals(variable):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[3\] into final shape \[4\]"):
        after(variable, variable[1].assign([1.0, 2, 3]))
    with pytest.raises((TypeError, ValueError), match="int32"):
        variable[1].assign(tf.constant(3))
    for part in (variable[1:][0], variable.value()[1]):
        with pytest.raises(ValueError, match="Sliced assignment is only supported for variables"):
            part.assign(1.0)
    assert not hasattr(variable[START > 3], "assign")
    with pytest.raises(tf.errors.FailedPreconditionError), tf.Session() as session:
        session.run(variable[0].assign(1.0))

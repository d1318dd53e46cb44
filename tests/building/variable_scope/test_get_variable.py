"""The arguments of `get_variable`, and the defaults that it takes from the scope."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf

LOSSES = tf.GraphKeys.REGULARIZATION_LOSSES


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def names(items):
    return [each.op.name for each in items]


def value_of(variable):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(variable)


# -- initializers


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(tf.int32, 0), (tf.int64, 0), (tf.uint8, 0), (tf.bool, False), (tf.string, b"")],
)
def test_what_is_not_floating_begins_as_nothing(dtype, value):
    assert value_of(tf.get_variable("v", [2], dtype)).tolist() == [value, value]


def test_a_complex_variable_needs_an_initializer():
    with pytest.raises(ValueError, match=r"An initializer for variable v of .*complex64.* is req"):
        tf.get_variable("v", [2], tf.complex64)
    made = tf.get_variable("v", [2], tf.complex64, initializer=tf.zeros_initializer())
    assert value_of(made).tolist() == [0j, 0j]


def test_an_initializer_may_be_an_instance_a_class_or_a_function():
    def twos(shape, dtype=None, partition_info=None):
        assert partition_info is None
        return tf.fill(shape, tf.constant(2, dtype))

    assert value_of(tf.get_variable("a", [2], initializer=tf.ones_initializer())).tolist() == [1, 1]
    assert value_of(tf.get_variable("b", [2], initializer=tf.ones_initializer)).tolist() == [1, 1]
    assert value_of(tf.get_variable("c", [2], tf.int64, twos)).tolist() == [2, 2]


def test_a_function_that_knows_of_no_partitions_is_not_told():
    made = tf.get_variable("v", [2], initializer=lambda shape, dtype: tf.ones(shape, dtype))
    assert value_of(made).tolist() == [1, 1]


def test_a_function_without_arguments_says_shape_and_dtype():
    made = tf.get_variable("v", initializer=lambda: tf.constant([1, 2]))
    assert made.shape.as_list() == [2]
    assert made.dtype.base_dtype is tf.int32


@pytest.mark.parametrize("value", [[1.0, 2.0], np.float32([1, 2])])
def test_a_value_says_shape_and_dtype(value):
    made = tf.get_variable("v", initializer=value)
    assert made.shape.as_list() == [2]
    assert made.dtype.base_dtype is tf.float32
    assert value_of(made).tolist() == [1, 2]


def test_a_tensor_is_the_initial_value():
    tensor = tf.constant([1, 2])
    assert tf.get_variable("v", initializer=tensor).initial_value is tensor


def test_a_scopes_initializer_is_inherited():
    with tf.variable_scope("a", initializer=tf.ones_initializer()):
        with tf.variable_scope("b"):
            assert value_of(tf.get_variable("v", [1])).tolist() == [1]
            own = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
            assert value_of(own).tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": [2], "initializer": [1.0, 2.0]}, "is a constant, do not specify shape"),
        (
            {"dtype": tf.float32, "initializer": [1, 2]},
            "Initializer type .*int32.* and explicit dtype .*float32.* don't match",
        ),
        ({}, "^The initializer passed is not valid.*variable v.*<unknown>"),
        ({"shape": [None, 2]}, r"is not valid.*\(\?, 2\)"),
        ({"initializer": tf.zeros_initializer()}, "is not valid"),
        ({"shape": [1], "collections": "mine"}, "collections .*must be a list, tuple, or set"),
        ({"shape": [1], "constraint": 3}, "must be a callable"),
        ({"shape": [1], "synchronization": 9}, "Invalid variable synchronization mode: 9"),
        ({"shape": [1], "aggregation": "sum"}, "Invalid variable aggregation mode: 'sum'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.get_variable("v", **arguments)
    assert tf.global_variables() == []


def test_an_initializer_that_fails_leaves_nothing_behind():
    def fails(shape, dtype=None):
        raise KeyError("no")

    with pytest.raises(KeyError), tf.variable_scope("a"):
        tf.get_variable("v", [1], initializer=fails)
    assert tf.get_variable_scope().name == ""
    assert tf.constant(0, name="c").op.name == "c"
    with tf.variable_scope("a"):
        assert tf.get_variable("v", [1]).op.name.startswith("a/v")


# -- where it is made


def test_control_dependencies_do_not_reach_the_initializer():
    with tf.control_dependencies([tf.placeholder(tf.float32, name="never_fed")]):
        made = tf.get_variable("v", initializer=lambda: tf.zeros([1]) + 2.0)
        other = tf.get_variable("w", [1], regularizer=tf.nn.l2_loss)
    assert value_of(made).tolist() == [2]
    assert other.initial_value.op.control_inputs == []
    assert tf.get_collection(LOSSES)[0].op.control_inputs == []


def test_a_device_function_sees_the_variable():
    seen = []

    def choose(op):
        seen.append(op.type)
        return "/cpu:0" if op.type == "VariableV2" else None

    with tf.device(choose):
        made = tf.get_variable("v", [1], initializer=tf.zeros_initializer())
    assert "VariableV2" in seen
    assert made.device == "/cpu:0"


# -- caching


def test_reading_is_on_the_caching_device():
    with tf.device("/cpu:0"), tf.variable_scope("a", caching_device="/cpu:1"):
        with tf.variable_scope("b"):
            inherited = tf.get_variable("v", [1])
            own = tf.get_variable("w", [1], caching_device=lambda op: "/cpu:2")
    assert (inherited.device, inherited.value().device) == ("/device:CPU:0", "/device:CPU:1")
    assert (own.device, own.value().device) == ("/device:CPU:0", "/device:CPU:2")


# -- regularizers


def test_a_loss_is_made_of_each_new_variable():
    with tf.variable_scope("a", regularizer=lambda v: tf.identity(v, name="loss")):
        tf.get_variable("v", [1])
        with tf.variable_scope("b"):
            tf.get_variable("v", [1])
            tf.get_variable("free", [1], regularizer=tf.no_regularizer)
        with tf.variable_scope("free", regularizer=tf.no_regularizer):
            tf.get_variable("v", [1])
        tf.get_variable("none", [1], regularizer=lambda v: None)
    assert names(tf.get_collection(LOSSES)) == ["a/v/Regularizer/loss", "a/b/v/Regularizer/loss"]


# -- dtype, constraint, use_resource


def test_a_scopes_dtype_is_inherited():
    with tf.variable_scope("a", dtype=tf.float64), tf.variable_scope("b"):
        assert tf.get_variable("v", [1]).dtype.base_dtype is tf.float64
        assert tf.get_variable("w", initializer=3).dtype.base_dtype is tf.int32
        assert tf.get_variable("x", [1], np.float16).dtype.base_dtype is tf.float16


def test_a_constraint_is_not_inherited():
    def positive(value):
        return tf.nn.relu(value)

    with tf.variable_scope("a", constraint=positive) as scope:
        assert tf.get_variable("v", [1]).constraint is positive
        with tf.variable_scope("b") as inner:
            assert inner.constraint is None
            assert tf.get_variable("v", [1]).constraint is None
    with tf.variable_scope(scope) as jump:
        assert jump.constraint is None


def kind(variable):
    return {"VariableV2": "reference", "VarHandleOp": "resource"}[variable.op.type]


@pytest.fixture
def _enabled():
    tf.enable_resource_variables()
    yield
    tf.disable_resource_variables()


@pytest.mark.parametrize("use_resource", [None, False])
def test_variables_are_references_unless_resources_are_asked_for(use_resource):
    with tf.variable_scope("a", use_resource=use_resource) as scope:
        assert scope.use_resource is use_resource
        assert kind(tf.get_variable("v", [1])) == "reference"
        assert kind(tf.get_variable("w", [1], use_resource=True)) == "resource"


def test_a_scope_passes_on_that_its_variables_are_resources():
    with tf.variable_scope("a", use_resource=True):
        with tf.variable_scope("b") as inner:
            assert inner.use_resource is True
            assert kind(tf.get_variable("v", [1])) == "resource"
            assert kind(tf.get_variable("w", [1], use_resource=False)) == "reference"
            assert kind(tf.Variable(1.0)) == "resource"
            assert kind(tf.Variable(1.0, use_resource=False)) == "reference"
        with tf.variable_scope("c", use_resource=False):
            assert kind(tf.get_variable("v", [1])) == "reference"
    with tf.variable_scope(inner):
        assert kind(tf.get_variable("x", [1])) == "resource"


@pytest.mark.usefixtures("_enabled")
def test_what_is_enabled_holds_where_nothing_is_asked_for():
    assert tf.resource_variables_enabled()
    with tf.variable_scope("a") as scope:
        assert scope.use_resource is None
        assert kind(tf.get_variable("v", [1])) == "resource"
    assert kind(tf.get_variable("w", [1], use_resource=False)) == "reference"
    assert kind(tf.Variable(1.0)) == "resource"
    tf.disable_resource_variables()
    assert not tf.resource_variables_enabled()
    assert kind(tf.Variable(1.0)) == "reference"


def test_a_shared_resource_variable_is_found_by_its_name():
    with tf.variable_scope("a", use_resource=True):
        made = tf.get_variable("v", [2])
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("v", [2]) is made
        with pytest.raises(ValueError, match="shape"):
            tf.get_variable("v", [3])
        with pytest.raises(ValueError, match="dtype"):
            tf.get_variable("v", [2], dtype=tf.int32)


def test_a_creator_is_told_and_may_choose():
    def creator(make, **given):
        seen.append(given["use_resource"])
        return make(**{**given, "use_resource": True})

    seen: list[bool | None] = []
    with tf.variable_creator_scope(creator):
        assert kind(tf.get_variable("v", [1])) == "resource"
        assert kind(tf.Variable(1.0, use_resource=False)) == "resource"
    assert seen == [None, False]


def test_parts_of_a_resource_variable_are_resources():
    with tf.variable_scope("p", use_resource=True, partitioner=tf.fixed_size_partitioner(2)):
        whole = tf.get_variable("v", [4, 2], initializer=tf.ones_initializer())
    assert [kind(part) for part in whole] == ["resource"] * 2
    grads = tf.gradients(tf.reduce_sum(tf.convert_to_tensor(whole) ** 2.0), list(whole))
    rows = tf.nn.embedding_lookup(whole, [3, 0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [grad.tolist() for grad in session.run(grads)] == [[[2, 2]] * 2] * 2
        assert session.run(rows).tolist() == [[1, 1]] * 2


# -- a scope's settings


def test_a_scope_tells_what_holds_and_may_be_told():
    told = {
        "initializer": tf.ones_initializer(),
        "regularizer": tf.nn.l2_loss,
        "caching_device": "/cpu:0",
        "partitioner": tf.fixed_size_partitioner(2),
        "custom_getter": lambda getter, name, **given: getter(name, **given),
        "dtype": tf.float64,
        "use_resource": False,
    }

    def says(scope):
        return {key: getattr(scope, key) for key in told}

    with tf.variable_scope("a", **told) as scope:
        assert says(scope) == told
        with tf.variable_scope("b") as inner:
            assert says(inner) == told
    with tf.variable_scope(scope, dtype=tf.float16) as jump:
        assert says(jump) == told | {"dtype": tf.float16}
        for key in told:
            getattr(jump, f"set_{key}")(None)
        assert set(says(jump).values()) == {None}
    assert says(scope) == told
    root = tf.get_variable_scope()
    assert says(root) == dict.fromkeys(told) | {"dtype": tf.float32}


def test_a_scope_made_by_hand_may_be_entered():
    with tf.variable_scope(tf.VariableScope(tf.AUTO_REUSE, "by/hand")):
        assert tf.get_variable("v", [1]) is tf.get_variable("v", [1])
    assert names(tf.global_variables()) == ["by/hand/v"]


# -- collections


def test_what_joins_which_collection():
    keys = tf.GraphKeys
    tf.get_variable("plain", [1])
    tf.get_variable("fixed", [1], trainable=False)
    tf.get_variable("mine", [1], collections=["mine"])
    tf.get_local_variable("local", [1])
    tf.get_local_variable("both", [1], collections=["mine"])
    tf.get_variable("summed", [1], synchronization=tf.VariableSynchronization.ON_READ)
    tf.get_variable("model", [1], collections=[keys.GLOBAL_VARIABLES, keys.MODEL_VARIABLES])
    averaged = [keys.GLOBAL_VARIABLES, keys.MOVING_AVERAGE_VARIABLES]
    tf.get_variable("averaged", [1], collections=averaged)
    assert names(tf.global_variables()) == ["plain", "fixed", "summed", "model", "averaged"]
    assert names(tf.trainable_variables()) == ["plain", "mine", "model", "averaged"]
    assert names(tf.local_variables()) == ["local", "both"]
    assert names(tf.get_collection("mine")) == ["mine", "both"]
    assert names(tf.model_variables()) == ["model"]
    assert names(tf.moving_average_variables()) == ["averaged"]


def test_a_scope_knows_its_own_variables():
    with tf.variable_scope("foo") as foo:
        tf.get_variable("v", [1])
        tf.get_variable("fixed", [1], trainable=False)
        tf.get_local_variable("local", [1])
    with tf.variable_scope("foo1"):
        tf.get_variable("v", [1])
    assert names(foo.global_variables()) == ["foo/v", "foo/fixed"]
    assert names(foo.trainable_variables()) == ["foo/v"]
    assert names(foo.local_variables()) == ["foo/local"]
    assert names(foo.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)) == ["foo/v", "foo/fixed"]
    assert names(tf.get_variable_scope().global_variables()) == ["foo/v", "foo/fixed", "foo1/v"]
    assert names(tf.global_variables("foo")) == ["foo/v", "foo/fixed", "foo1/v"]  # a prefix
    assert names(tf.trainable_variables("foo/")) == ["foo/v"]


def test_which_variables_have_no_value_yet():
    made = tf.get_variable("v", [1])
    tf.get_local_variable("local", [1])
    report = tf.report_uninitialized_variables()
    check = tf.assert_variables_initialized()
    with tf.Session() as session:
        assert session.run(report).tolist() == [b"v", b"local"]
        session.run(made.initializer)
        assert session.run(report).tolist() == [b"local"]
        with pytest.raises(tf.errors.FailedPreconditionError, match="local"):
            session.run(check)
        session.run(tf.local_variables_initializer())
        session.run(check)
    assert tf.assert_variables_initialized([]) is None

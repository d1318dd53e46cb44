"""contrib.framework: variables by name, devices, choices, names, checks, bounds."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

framework = tf.contrib.framework


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(*tensors, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        results = session.run(list(tensors), feed)
        return results[0] if len(results) == 1 else results


# -- variables


def test_variables_that_are_not_trained():
    local = framework.local_variable([1, 2], name="l", use_resource=True)
    overall = framework.global_variable(3, name="g")
    assert tf.local_variables() == [local] and tf.global_variables() == [overall]
    assert tf.trainable_variables() == []
    assert run(local).tolist() == [1, 2]


def test_full_names_of_parts():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        parts = tf.get_variable("v", [4])
    assert {framework.get_variable_full_name(part) for part in parts} == {"s/v"}
    assert framework.get_variable_full_name(framework.local_variable(1, name="x")) == "x"


def test_variables_are_filtered_by_patterns():
    for name in ("conv1/w", "conv1/b", "fc/w"):
        tf.get_variable(name, [1])
    names = [variable.op.name for variable in framework.filter_variables(tf.global_variables())]
    assert len(names) == 3

    def chosen(**arguments):
        found = framework.filter_variables(tf.global_variables(), **arguments)
        return [variable.op.name for variable in found]

    assert chosen(include_patterns=["w"]) == ["conv1/w", "fc/w"]
    assert chosen(include_patterns=["w"], reg_search=False) == []
    assert chosen(exclude_patterns=["conv"]) == ["fc/w"]
    assert chosen(include_patterns=["conv", "fc"], exclude_patterns=["/b"]) == ["conv1/w", "fc/w"]


def test_variables_to_restore():
    a, b = tf.get_variable("A/a", [1]), tf.get_variable("B/b", [1])
    restored = framework.get_variables_to_restore
    assert (
        restored() == [a, b] and restored(include=["A"]) == [a] and restored(exclude=["A"]) == [b]
    )
    assert restored(include=["A", "B"], exclude=["B/b"]) == [a]
    with pytest.raises(TypeError, match="include must be a list or tuple"):
        restored(include="A")


def test_values_by_names():
    a, b = tf.get_variable("s/a", [2, 2]), tf.get_variable("s/ab", [])
    operation, feeds = framework.assign_from_values({"s/a": [1, 2, 3, 4], "s/ab": 5})
    assign = framework.assign_from_values_fn({"s/ab": 7})
    with tf.Session() as session:
        session.run(operation, feeds)
        assert session.run(a).tolist() == [[1, 2], [3, 4]] and session.run(b) == 5
        assign(session)
        assert session.run(b) == 7
    with pytest.raises(ValueError, match="Variable nope wasn't found"):
        framework.assign_from_values({"nope": 1})
    with pytest.raises(ValueError, match="Variable s doesn't uniquely identify a variable"):
        framework.assign_from_values({"s": 1})


def test_zeros_for_a_variable_without_a_value():
    variable = tf.Variable(tf.ones([2]))
    zero = framework.zero_initializer(variable)
    with tf.Session() as session:
        session.run(zero)
        assert session.run(variable).tolist() == [0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="is already initialized"):
            session.run(zero)


def test_devices_one_after_the_other():
    chooser = framework.VariableDeviceChooser(num_tasks=2, device_type="GPU", replica=1)
    assert [chooser(None) for _ in range(3)] == [
        f"/job:ps/replica:1/task:{task}/device:GPU:0" for task in (0, 1, 0)
    ]
    assert framework.VariableDeviceChooser()(None) == "/device:CPU:0"
    variable = framework.variable("v", [1], device=framework.VariableDeviceChooser(2))
    assert variable.device == "/job:ps/task:0/device:CPU:0"


# -- choices


def test_smart_cond():
    chosen = tf.placeholder_with_default(True, [])
    for pred, wanted in [(True, 1), (0, 2), (tf.constant(False), 2), (chosen, 1)]:
        value = framework.smart_cond(pred, lambda: tf.constant(1), lambda: tf.constant(2))
        assert run(value) == wanted
    assert framework.smart_cond(True, lambda: 5, lambda: 1 / 0) == 5
    variable = tf.Variable(False)
    assert run(framework.smart_cond(variable, lambda: tf.ones([]), lambda: tf.zeros([]))) == 0
    with pytest.raises(TypeError, match="`true_fn` must be callable"):
        framework.smart_cond(True, 5, lambda: 1)
    with pytest.raises(TypeError, match="`pred` must be a Tensor, or a Python bool, or 1 or 0"):
        framework.smart_cond("x", lambda: 1, lambda: 2)


def test_smart_constant_value():
    assert framework.smart_constant_value(1) is True
    assert framework.smart_constant_value(tf.constant(False)) is False
    assert framework.smart_constant_value(tf.placeholder(tf.bool, [])) is None


@pytest.mark.parametrize("exclusive", [False, True])
def test_smart_case(exclusive):
    x = tf.placeholder_with_default(3, [])

    def case(pairs, default=None):
        return framework.smart_case(pairs, default, exclusive)

    assert case([(False, lambda: 1), (True, lambda: 2)]) == 2
    assert case({False: lambda: 1}, lambda: 3) == 3
    value = case([(x < 2, lambda: tf.constant(1)), (x < 5, lambda: tf.constant(2))], lambda: x)
    assert run(value) == 2
    with pytest.raises(ValueError, match="None of the conditions is true"):
        case([(False, lambda: 1)])
    with pytest.raises(TypeError, match="must be a 2-tuple"):
        case([(True, 3)])


# -- names and graphs


def test_names_under_scopes():
    for name, scope, wanted in [
        ("hidden1/w", "hidden1", "w"), ("^hidden1/w", "hidden1/", "^w"),
        ("loc:@a/b/w", "a/b", "loc:@w"), ("other/w", "hidden1", "other/w"), ("w", None, "w"),
    ]:  # fmt: skip
        assert framework.strip_name_scope(name, scope) == wanted
    assert framework.prepend_name_scope("^w", "a/") == "^a/w"
    assert framework.prepend_name_scope("loc:@w", "a") == "loc:@a/w"
    with tf.name_scope("a"), tf.name_scope("b"):
        assert framework.get_name_scope() == "a/b"


def test_the_graph_of_inputs(graph):
    x = tf.placeholder(tf.float32)
    with tf.Graph().as_default():
        y = tf.constant(1)
        assert framework.get_graph_from_inputs([x, 3]) is graph
        assert framework.get_graph_from_inputs([]) is tf.get_default_graph()
        with pytest.raises(ValueError, match="must be from the same graph as"):
            framework.get_graph_from_inputs([x, y])
        with pytest.raises(ValueError, match="is not from the passed-in graph"):
            framework.get_graph_from_inputs([y], graph=graph)
    assert framework.get_placeholders(graph) == [x]


# -- checks


def test_checks_of_scalars():
    assert run(framework.assert_scalar(3.0)) == 3
    assert run(framework.assert_scalar_int(tf.constant(3))) == 3
    with pytest.raises(ValueError, match="Expected integer type for Const"):
        framework.assert_scalar_int(tf.constant(3.0))
    with pytest.raises(ValueError, match="scalar"):
        framework.assert_scalar([1, 2])
    step = framework.get_or_create_global_step()
    assert framework.assert_or_get_global_step() is step
    with pytest.raises(TypeError, match="does not have integer type"):
        framework.assert_or_get_global_step(global_step_tensor=tf.constant(1.0))


def test_sums_and_squeezes():
    assert run(framework.reduce_sum_n([tf.ones([2, 2]), tf.ones([3])])) == 7
    with pytest.raises(ValueError, match="No tensors provided"):
        framework.reduce_sum_n([])
    predictions, labels = framework.remove_squeezable_dimensions(tf.zeros([3, 1]), tf.zeros([3]))
    assert predictions.shape.as_list() == labels.shape.as_list() == [3]


def test_shapes_are_checked():
    known, open_tensor = tf.ones([2, 3]), tf.placeholder(tf.float32)
    assert framework.with_shape([2, None], known) is known
    with pytest.raises(ValueError, match="is expected"):
        framework.with_shape([3, 2], known)
    checked = framework.with_same_shape(known, open_tensor)
    assert checked.shape.as_list() == [2, 3]
    by_tensor = framework.with_shape(
        tf.shape(tf.placeholder_with_default([1.0], None)), open_tensor
    )
    assert run(checked, feed={open_tensor: np.ones((2, 3))}).sum() == 6
    assert run(by_tensor, feed={open_tensor: [4]}) == [4]
    for tensor in (checked, by_tensor):
        with pytest.raises(tf.errors.InvalidArgumentError, match="another shape than is expected"):
            run(tensor, feed={open_tensor: [[1, 2]]})


# -- specs


def test_bounds_of_tensors():
    spec = framework.BoundedTensorSpec((3, 2), tf.float32, 0, [1.0, 2.0], name="s")
    assert spec.minimum == 0 and spec.maximum.tolist() == [1, 2]
    assert spec == framework.BoundedTensorSpec((3, 2), tf.float32, 0, [1.0, 2.0], name="s")
    assert spec != framework.BoundedTensorSpec((3, 2), tf.float32, 0, 1, name="s")
    assert framework.BoundedTensorSpec.from_spec(spec) == spec
    plain = framework.BoundedTensorSpec.from_spec(framework.TensorSpec([1], tf.int32))
    assert plain.maximum == 2**31 - 1
    with pytest.raises(ValueError, match="read-only"):
        spec.maximum[0] = 5
    with pytest.raises(ValueError, match="minimum is not compatible with shape"):
        framework.BoundedTensorSpec((3, 2), tf.float32, [1, 2, 3], 5)
    with pytest.raises(ValueError, match="maximum can not be None"):
        framework.BoundedTensorSpec((3, 2), tf.float32, 0, None)

"""Defun: functions of declared types, their gradients, and the ops that call them."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.building.function_calls.defined_function import Defun
from gpugraph.building.function_calls.functional_ops import (
    For,
    Gradient,
    If,
    While,
    partitioned_call,
    remote_call,
)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feed_dict=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed_dict)


def test_a_call_is_an_op_of_the_functions_name(graph):
    @Defun(tf.float32, tf.float32, func_name="Affine")
    def affine(a, b):
        """a * b + a."""
        return a * b + a

    y = affine(tf.constant(2.0), 5.0, name="call")
    assert y.name == "call:0"
    message = graph.as_graph_def()
    assert run(y) == 12.0
    assert [node.op for node in message.node] == ["Const", "Const", "Affine"]
    assert [f.signature.name for f in message.library.function] == ["Affine"]
    with tf.Graph().as_default(), tf.Session() as session:
        (copy,) = tf.import_graph_def(message, return_elements=["call:0"])
        assert session.run(copy) == 12.0


def test_names_and_signature():
    @Defun(tf.float32, tf.int32, out_names=["first", "second"])
    def pair(x, n):
        return x + 1.0, n

    name = pair.name
    assert name.startswith("pair_")
    assert len(name) == len("pair_") + 11
    assert [arg.name for arg in pair.definition.signature.input_arg] == ["x", "n"]
    assert [arg.name for arg in pair.definition.signature.output_arg] == ["first", "second"]
    assert pair.declared_input_types == [tf.float32, tf.int32]
    assert pair.captured_inputs == pair.stateful_ops == []
    assert run(list(pair(1.0, 2))) == [2.0, 2]

    @Defun()
    def nothing():
        tf.no_op()

    assert nothing().type == "NoOp"


def test_the_gradient_of_a_function(graph):
    @Defun(tf.float32, tf.float32)
    def product(a, b):
        return a * tf.exp(b)

    a, b = tf.constant(2.0), tf.constant(0.0)
    assert run(tf.gradients(product(a, b), [a, b])) == [1.0, 2.0]

    @Defun(tf.float32, tf.float32, tf.float32)
    def grad(a, b, dy):
        return dy * 10.0, dy * b

    @Defun(tf.float32, tf.float32, grad_func=grad)
    def with_function(a, b):
        return a * b

    assert run(tf.gradients(with_function(a, 3.0), [a])) == [10.0]
    assert with_function.grad_func_name == grad.name
    pairs = graph.as_graph_def().library.gradient
    assert [(p.function_name, p.gradient_func) for p in pairs] == [(with_function.name, grad.name)]

    seen = []

    def python_gradient(op, *grads):
        seen.append((len(op.inputs), op.outputs[0].dtype))
        return [grads[0] * op.inputs[0] * 7.0]

    @Defun(tf.float32, python_grad_func=python_gradient)
    def with_python(a):
        return a * a

    assert run(tf.gradients(with_python(a), [a])) == [14.0]
    assert seen == [(1, tf.float32)]


def test_captured_tensors_and_variables():
    v = tf.get_variable("v", initializer=3.0)
    w = tf.get_variable("w", initializer=4.0, use_resource=True)
    scale = tf.placeholder(tf.float32, [])

    @Defun(tf.float32)
    def f(x):
        return x * v * w + scale

    y = f(2.0)
    assert len(f.captured_inputs) == 3
    gradients = tf.gradients(y, [v, w, scale])
    assert run([y, gradients], {scale: 1.0}) == [25.0, [8.0, 6.0, 1.0]]


def test_a_function_without_types_is_defined_for_each_call():
    traces = []

    @Defun(func_name="Twice")
    def twice(x):
        traces.append(x.dtype)
        return x + x

    assert run([twice(1.0), twice(2), twice(3.0)]) == [2.0, 4, 6.0]
    assert traces == [tf.float32, tf.int32]
    assert twice.instantiate([tf.float32]).name == "Twice_f32"


def test_shapes():
    @Defun(tf.float32, shape_func=lambda op: [[4]])
    def f(x):
        return x + 1.0

    assert f(tf.ones([4])).shape.as_list() == [4]


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="function with argument defaults or keywords"):
        Defun(tf.float32)(lambda x=1.0: x)
    with pytest.raises(ValueError, match="fewer arguments than the number of specified input"):
        Defun(tf.float32, tf.float32)(lambda x: x)
    with pytest.raises(ValueError, match="must be callable"):
        Defun(tf.float32)(3)
    f = Defun(tf.float32)(lambda x: x)
    with pytest.raises(ValueError, match="Expected number of arguments: 1, received: 2"):
        f(1.0, 2.0)
    with pytest.raises(ValueError, match="Function can not return None"):
        Defun(tf.float32)(lambda x: (x, None))(1.0)


def test_if_while_and_for(graph):
    @Defun(tf.float32)
    def double(x):
        return x * 2.0

    @Defun(tf.float32)
    def negative(x):
        return -x

    @Defun(tf.int32, tf.float32)
    def below(n, x):
        return x < 100.0

    @Defun(tf.int32, tf.float32)
    def step(n, x):
        return n + 1, x * 3.0

    @Defun(tf.int32, tf.float32)
    def add_index(i, x):
        return x + tf.cast(i, tf.float32)

    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    chosen = If(p, [x], double, negative)
    looped = While([0, x], below, step)
    summed = For(1, 5, 2, [x], add_index)
    gradients = tf.gradients([chosen[0], looped[1], summed[0]], x)
    assert run([chosen, looped, summed, gradients], {p: True, x: 2.0}) == [
        [4.0], [4, 162.0], [6.0], [2.0 + 81.0 + 1.0],
    ]  # fmt: skip
    assert run(chosen, {p: False, x: 2.0}) == [-2.0]
    with tf.Graph().as_default() as plain:
        If(tf.constant(True), [1.0], double, negative)
        While([0, 1.0], below, step)
        For(1, 5, 2, [1.0], add_index)
        ops = [node.op for node in plain.as_graph_def().node if node.op != "Const"]
        assert ops == ["If", "While", "For"]
        message = plain.as_graph_def()
    with tf.Graph().as_default() as copy, tf.Session() as session:
        tf.import_graph_def(message, name="")
        assert session.run(["If:0", "While:1", "For:0"]) == [2.0, 243.0, 5.0]
        assert [n.op for n in copy.as_graph_def().node if n.op != "Const"] == ops
    with pytest.raises(ValueError, match="signatures do not match"):
        While([0], below, double)


def test_calls_by_other_ops():
    @Defun(tf.float32, tf.float32)
    def product(a, b):
        return a * b

    assert run(partitioned_call([2.0, 3.0], product)) == [6.0]
    assert run(remote_call([2.0, 3.0], [tf.float32], product, "/cpu:0")) == [6.0]
    assert run(Gradient([2.0, 3.0, 10.0], product)) == [30.0, 20.0]

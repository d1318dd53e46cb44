"""Functions: traced once, with captures, as FunctionDefs, and run by a session's functions."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.functions.function_tracing import trace
from gpugraph.graph.functions.func_graph import FuncGraph


def scalar(dtype=tf.float32):
    return tf.TensorSpec([], dtype)


def call_in(session, function, *values):
    call = session._backend.functions.bound(function)
    return call([np.asarray(value) for value in values])


def test_a_function_has_a_graph_of_its_own():
    with tf.Graph().as_default() as graph:
        function = trace(lambda x: x * 2 + 1, [scalar()], "twice")
        assert graph.get_operations() == []
        assert isinstance(function.graph, FuncGraph)
        assert [tensor.name for tensor in function.graph.inputs] == ["args_0:0"]
        with tf.Session() as session:
            assert call_in(session, function, np.float32(3)) == [7.0]


def test_tensors_of_the_outer_graph_are_captured_once():
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, [], name="fed")
        three = tf.constant(3.0)
        function = trace(lambda x: x * fed + fed * three, [scalar()])
        assert function.graph.captured == [fed, three]
        assert [tensor.op.type for tensor in function.graph.captures.values()] == [
            "Placeholder", "Const",
        ]  # fmt: skip
        assert len(graph.get_operations()) == 2
        with tf.Session() as session:
            assert call_in(session, function, np.float32(2), np.float32(5)) == [25.0]


def test_a_variable_is_read_when_the_function_is_called():
    with tf.Graph().as_default():
        v = tf.Variable(4.0, use_resource=True)
        function = trace(lambda x: x + v, [scalar()])
        with tf.Session() as session:
            session.run(v.initializer)
            assert call_in(session, function, np.float32(1)) == [5.0]
            session.run(v.assign(10.0))
            assert call_in(session, function, np.float32(1)) == [11.0]


def test_side_effects_happen_in_program_order():
    with tf.Graph().as_default():
        v = tf.Variable(1, use_resource=True)

        def change(x):
            v.assign(v.read_value() * 10 + x)
            v.assign_add(1)
            return x

        function = trace(change, [scalar(tf.int32)])
        with tf.Session() as session:
            session.run(v.initializer)
            call_in(session, function, np.int32(2))
            assert session.run(v) == 13


def test_tables_and_python_functions_are_those_of_the_session():
    with tf.Graph().as_default():
        init = tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([1, 2], np.int64))
        table = tf.lookup.StaticHashTable(init, -1)
        function = trace(
            lambda x: [table.lookup(x), tf.py_func(lambda s: s + b"!", [x], tf.string)],
            [scalar(tf.string)],
        )
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            number, text = call_in(session, function, np.array(b"b", object))
            assert number == 2
            assert text == b"b!"


def test_conditions_and_loops_capture():
    with tf.Graph().as_default():
        limit = tf.placeholder(tf.int32, [])
        function = trace(
            lambda x: tf.cond(
                x > limit,
                lambda: limit,
                lambda: tf.while_loop(lambda i: i < limit, lambda i: i * 2, [x]),
            ),
            [scalar(tf.int32)],
        )
        with tf.Session() as session:
            assert call_in(session, function, np.int32(3), np.int32(17)) == [24]
            assert call_in(session, function, np.int32(30), np.int32(17)) == [17]


def test_functions_nest():
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, [])
        inner = []

        def outer(x):
            inner.append(trace(lambda y: y * x + fed, [scalar()]))
            return x

        trace(outer, [scalar()])
        names = [tensor.op.name for tensor in inner[0].graph.captured]
        assert names == ["args_0", "Placeholder"]


def test_seeds_are_those_of_the_function_and_start_anew_with_each_call_object():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        function = trace(lambda: tf.random.uniform([]), [])
        with tf.Session() as session:
            call = session._backend.functions.bound(function)
            first = [call([])[0] for _ in range(3)]
            again = session._backend.functions.bound(function)
            assert [again([])[0] for _ in range(3)] == first
            assert len(set(map(float, first))) == 3


def test_calls_of_several_threads_run_at_the_same_time():
    with tf.Graph().as_default():
        barrier = threading.Barrier(3, timeout=30)
        function = trace(
            lambda x: tf.py_func(lambda v: (barrier.wait(), v)[1], [x], tf.float32), [scalar()]
        )
        with tf.Session() as session:
            call = session._backend.functions.bound(function)
            results = []
            threads = [
                threading.Thread(target=lambda n=n: results.append(call([np.float32(n)])[0]))
                for n in range(3)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(map(float, results)) == [0.0, 1.0, 2.0]


def test_a_function_def_can_be_imported_and_called():
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, [], name="fed")
        function = trace(lambda x: [x * fed, tf.split(tf.stack([x, fed]), 2)[1]], [scalar()], "f")
        function.add_to(graph)
        graph_def = graph.as_graph_def()
        (definition,) = graph_def.library.function
        assert [arg.name for arg in definition.signature.input_arg] == ["args_0", "fed"]
        call = graph_def.node.add(name="call", op=function.name, input=["fed", "fed"])
        assert call.op.startswith("__inference_f_")
    with tf.Graph().as_default() as graph:
        results = tf.import_graph_def(graph_def, return_elements=["call:0", "call:1", "fed:0"])
        with tf.Session() as session:
            first, second = session.run(results[:2], {results[2]: 3.0})
            assert first == 9.0
            assert list(second) == [3.0]


def test_a_tensor_of_an_unrelated_graph_is_refused():
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be from the same graph"):
        trace(lambda x: x + other, [scalar()])


def test_a_reference_variable_is_passed_by_value():
    with tf.Graph().as_default():
        v = tf.Variable(4.0, use_resource=False)
        function = trace(lambda x: x + v, [scalar()])
        assert [t.dtype for t in function.graph.captures.values()] == [tf.float32]
        with pytest.raises(ValueError, match="use_resource=True"):
            trace(lambda x: v.assign(x), [scalar()])


def test_a_closed_session_runs_no_functions():
    with tf.Graph().as_default():
        function = trace(lambda x: x, [scalar()])
        session = tf.Session()
        call = session._backend.functions.bound(function)
        assert call([np.float32(1)]) == [1.0]
        session.close()
        with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
            call([np.float32(1)])

"""TensorFlow's guarantees for variable sharing that no other test here covers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_the_store_and_the_scopes_are_in_collections_of_the_graph(graph):
    with tf.variable_scope("a"):
        made = tf.get_variable("v", [1])
        (scopes,) = graph.get_collection(("__varscope",))
        assert scopes.current is tf.get_variable_scope()
    (store,) = graph.get_collection(("__variable_store",))
    assert store.variables == {"a/v": made}
    assert not {"__varscope", "__variable_store"} & {*graph.get_all_collection_keys()}


def test_the_constraint_of_a_shared_variable_holds_after_each_update():
    with tf.variable_scope("a", constraint=lambda value: tf.clip_by_value(value, -1.0, 1.0)):
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("v").constraint is v.constraint
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(v * [0.5, -9.0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [-0.5, 1.0]


def test_scopes_and_their_operations_differ_in_more_than_case():
    seen = []
    for name in ("net", "Net", "NET"):
        with tf.variable_scope(name):
            seen.append((tf.get_variable("v", [1]).op.name, tf.no_op("op").name))
    assert seen == [("net/v", "net/op"), ("Net/v_1", "Net_1/op"), ("NET/v_2", "NET_2/op")]


def test_a_finalized_graph_finds_variables_and_makes_none(graph):
    made = tf.get_variable("v", [1])
    graph.finalize()
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        assert tf.get_variable("v") is made
    with pytest.raises(RuntimeError, match="finalized"):
        tf.get_variable("w", [1])


def test_a_first_layer_is_shared_and_gradients_of_all_its_uses_add_up():
    def tower(x):
        with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        return w * x

    loss = tower(2.0) + tower(3.0) * 10.0
    (gradient,) = tf.gradients(loss, tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([loss, gradient]) == [32, 32]


@given(
    st.integers(1, 9), st.integers(1, 4), st.integers(1, 4),
    st.lists(st.integers(0, 8), min_size=1, max_size=6),
)  # fmt: skip
def test_rows_are_looked_up_in_a_variable_made_in_parts(rows, columns, parts, ids):
    ids = [each % rows for each in ids]
    table = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    with tf.Graph().as_default(), tf.Session() as session:
        partitioner = tf.fixed_size_partitioner(min(parts, rows))
        whole = tf.get_variable("e", initializer=tf.constant(table), partitioner=partitioner)
        found = tf.nn.embedding_lookup(whole, ids, partition_strategy="div")
        session.run(tf.global_variables_initializer())
        assert session.run(found).tolist() == table[ids].tolist()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["scope", "default", "template", "again", "arg_scope"]),
        st.sampled_from("ab"),
    ),
    max_size=6,
)


@tf.contrib.framework.add_arg_scope
def layer(name, size=1):
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        return tf.get_variable("v", [size])


def build(steps, size):
    """Run the steps, and return the names of scopes and variables, and the sizes."""
    seen = []
    for kind, name in steps:
        if kind == "scope":
            with tf.variable_scope(name, reuse=tf.AUTO_REUSE) as scope:
                seen += [scope.name, tf.get_variable("w", [1]).op.name]
        elif kind == "default":
            with tf.variable_scope(None, name) as scope:
                seen += [scope.name, tf.get_variable("w", [1]).op.name]
        elif kind == "template":
            shared = tf.make_template(name, lambda: tf.get_variable("t", [2]))
            seen += [shared().op.name, shared().op.name, shared.variable_scope_name]
        elif kind == "arg_scope":
            with tf.contrib.framework.arg_scope([layer], size=size):
                seen.append(layer(f"{name}_of_layers").shape.as_list())
        else:
            with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
                seen.append(tf.get_variable(name, [3]).op.name)
    return [*seen, tf.get_variable_scope().name]


@given(st.lists(STEPS, min_size=2, max_size=4))
def test_threads_that_build_one_graph_each_under_its_own_scope_do_not_disturb_each_other(programs):
    def run(graph, index):
        with graph.as_default(), tf.variable_scope(f"thread{index}"):
            return build(programs[index], index + 1)

    alone = [run(tf.Graph(), index) for index in range(len(programs))]
    together = tf.Graph()
    with ThreadPoolExecutor(len(programs)) as pool:
        made = list(pool.map(lambda index: run(together, index), range(len(programs))))
    assert made == alone
    told = tf.explain_variables(together)
    assert all(each.name.startswith("thread") for each in told.variables)

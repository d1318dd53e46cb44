"""Scopes end as they began: nesting, exceptions, and threads that each have their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_scopes_must_be_left_in_the_opposite_order():
    outer, inner = tf.variable_scope("a"), tf.variable_scope("b")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match=r"Improper nesting of variable_scope.*'a'.*'a/b'"):
        outer.__exit__(None, None, None)
    assert tf.get_variable_scope().name == "a/b"
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert tf.get_variable_scope().name == ""


@given(st.lists(st.sampled_from(["name", "default", "jump", "flat"]), min_size=1, max_size=6))
def test_an_exception_leaves_every_scope_as_it_was(kinds):
    with tf.Graph().as_default() as graph:
        with tf.variable_scope("target") as target:
            pass
        arguments = {"name": ("a",), "default": (None, "d"), "jump": (target,), "flat": ("f",)}
        with tf.name_scope("n"), tf.variable_scope("start"):
            before = tf.get_variable_scope(), graph.get_name_scope()

            def enter(rest):
                if not rest:
                    raise KeyError("deep inside")
                flat = rest[0] == "flat"
                with tf.variable_scope(*arguments[rest[0]], auxiliary_name_scope=not flat):
                    enter(rest[1:])

            with pytest.raises(KeyError):
                enter(kinds)
            assert (tf.get_variable_scope(), graph.get_name_scope()) == before
            assert tf.get_default_graph() is graph


def test_a_scope_that_fails_to_open_leaves_everything_as_it_was(graph):
    with tf.Graph().as_default():
        value = tf.constant(1.0)
    with (
        pytest.raises(ValueError, match="valid scope name"),
        tf.variable_scope("a b", values=[value]),
    ):
        pass
    assert tf.get_default_graph() is graph


def test_a_thread_begins_outside_of_all_scopes(graph):
    names = []

    def look():
        with graph.as_default():
            names.append(tf.get_variable_scope().name)
            with tf.variable_scope("b"):
                names.append(tf.get_variable("v", [1]).op.name)

    with tf.variable_scope("a"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert tf.get_variable_scope().name == "a"
    assert names == ["", "b/v"]


def test_reuse_in_one_thread_is_nothing_to_another(graph):
    with tf.variable_scope("a") as scope:
        tf.get_variable("v", [1])
        scope.reuse_variables()

        def look():
            with graph.as_default(), tf.variable_scope("a") as own:
                return own.reuse

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(look).result() is False


def test_two_threads_that_ask_for_one_variable_get_one(graph):
    start = threading.Barrier(4)

    def get(_):
        start.wait()
        with graph.as_default(), tf.variable_scope("a", reuse=tf.AUTO_REUSE):
            return [tf.get_variable(f"v{each}", [1]) for each in range(20)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(get, range(4)))
    assert all(each == found[0] for each in found)
    assert len(tf.global_variables()) == 20


def build(program) -> list[str]:
    """Open scopes and create variables as `program` specifies, and return their names."""
    names = []
    for name, inner in program:
        with tf.variable_scope(None, name, reuse=False) as scope:
            names += [scope.name, tf.get_variable("v", [1]).op.name]
            names += build(inner)
    return names


PROGRAMS = st.recursive(
    st.just([]),
    lambda inner: st.lists(st.tuples(st.sampled_from(["a", "b"]), inner), max_size=3),
    max_leaves=8,
)


@given(st.lists(PROGRAMS, min_size=2, max_size=4))
def test_threads_that_build_graphs_do_not_disturb_each_other(programs):
    def run(program):
        with tf.Graph().as_default():
            return build(program)

    alone = [run(program) for program in programs]
    with ThreadPoolExecutor(len(programs)) as pool:
        assert list(pool.map(run, programs)) == alone

"""tf.CriticalSection: functions that run one at a time."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counter(**options):
    return tf.get_variable("v", initializer=0.0, use_resource=True, **options)


def test_sections_change_a_variable_one_after_another():
    section, v = tf.CriticalSection(), counter()

    def add():
        with tf.control_dependencies([tf.assign(v, v.read_value() + 1)]):
            return v.read_value()

    results = [section.execute(add) for _ in range(5)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert sorted(session.run(results)) == [1, 2, 3, 4, 5]
        assert session.run(results[3]) == 6  # no other section runs


def test_effects_of_python_functions_do_not_overlap():
    events = []

    def step(name):
        def begin():
            events.append((name, "begin"))
            return np.float32(0)

        def end(x):
            events.append((name, "end"))
            return x

        return lambda: tf.py_func(end, [tf.py_func(begin, [], tf.float32)], tf.float32)

    section = tf.CriticalSection(name="python")
    assert section.name == "python"
    results = [section.execute(step(name)) for name in "abc"]
    with tf.Session() as session:
        session.run(results)
    assert events == [(name, what) for name in "abc" for what in ("begin", "end")]


def test_a_section_waits_for_those_of_other_runs_and_a_failed_run_ends_its_section():
    section = tf.CriticalSection()
    inside, overlaps, fails = [], [], tf.placeholder(tf.bool, [])

    def work(x):
        overlaps.append(len(inside))
        inside.append(1)
        time.sleep(0.02)
        inside.pop()
        return x

    def body():
        with tf.control_dependencies([tf.Assert(tf.logical_not(fails), ["it fails"])]):
            return tf.py_func(work, [tf.constant(1.0)], tf.float32)

    result = section.execute(body)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="it fails"):
            session.run(result, {fails: True})
        threads = [
            threading.Thread(target=session.run, args=(result, {fails: False})) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert overlaps == [0] * 4


def test_wrong_uses_are_refused():
    section, other, v = tf.CriticalSection(), tf.CriticalSection(), counter()
    with pytest.raises(ValueError, match="attempts to directly access the CriticalSection"):
        section.execute(lambda: section.execute(lambda: v.assign_add(1.0)))
    section.execute(lambda: v.assign_add(1.0))
    with pytest.raises(ValueError, match="This execution would access resources"):
        other.execute(lambda: v.assign_add(1.0))
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.CriticalSection(shared_name="a", critical_section_def=1)
    with pytest.raises(NotImplementedError):
        tf.CriticalSection(critical_section_def=1)


def test_structures_and_sections_without_exclusive_access(graph):
    one, two, v = tf.CriticalSection(), tf.CriticalSection(), counter()
    results = [
        section.execute(lambda: {"a": v.assign_add(1.0), "b": [tf.constant(2)]}, False)
        for section in (one, two)
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(results)
        assert [value["b"] for value in values] == [[2], [2]]
        assert session.run(v) == 2
    types = {op.type for op in graph.get_operations()}
    assert types >= {"MutexV2", "MutexLock", "ConsumeMutexLock"}
    assert len(tf.get_collection("critical_section_executions")) == 2

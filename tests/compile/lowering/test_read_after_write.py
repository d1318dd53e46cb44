"""Reread: users of a variable that come after a write see it, others see a snapshot."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(fetches, gpus=0):
    config = tf.ConfigProto(allow_soft_placement=True, gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


@pytest.mark.parametrize("gpus", [0, 2])
def test_what_is_made_under_a_write_sees_it(gpus):
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0, 2.0], name="v")
    before = v * 10.0
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        same, tenfold = tf.identity(v), v * 10.0
    answers = run([before, same, tenfold], gpus)
    assert [list(each) for each in answers] == [[10, 20], [2, 3], [20, 30]]


def test_waiting_by_a_tensor_counts_as_waiting():
    v = tf.Variable(1.0)
    written = v.assign(5.0)
    assert run(tf.add(v, written * 0.0)) == 5.0
    assert run(v + 0.0) == 1.0
    with tf.control_dependencies([written * 0.0]):
        late = v + 1.0
    assert run(late) == 6.0


def test_of_writes_in_turn_each_user_sees_its_own():
    v = tf.Variable(0.0)
    seen, last = [], []
    for _ in range(5):
        with tf.control_dependencies(last):
            last = [v.assign_add(1.0)]
        with tf.control_dependencies(last):
            last = [v + 0.0]
            seen += last
    assert run(seen) == [1, 2, 3, 4, 5]


def test_a_loss_after_the_training_step_is_the_new_loss():
    w = tf.Variable([3.0, 3.0])
    loss = tf.reduce_sum(tf.square(w - 1.0))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.control_dependencies([train]):
        after = tf.reduce_sum(tf.square(w - 1.0))
    assert run([loss, after]) == [8.0, 0.0]


def test_a_read_of_ones_own_stays_what_was_read():
    v = tf.Variable(1.0)
    old = v.read_value()
    with tf.control_dependencies([old]), tf.control_dependencies([v.assign(5.0)]):
        fetches = [old + 0.0, v + 0.0]
    assert run(fetches) == [1.0, 5.0]


VIEWS = {
    "identity": tf.identity,
    "stop_gradient": tf.stop_gradient,
    "reshape": lambda v: tf.reshape(tf.identity(v), [2, 1]),
    "squeeze": lambda v: tf.squeeze(tf.expand_dims(v, 0), 0),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_of_the_shared_read_is_the_memory_of_the_variable(view):
    v = tf.Variable([1.0, 2.0])
    seen = view(v)
    later = after(v.assign_add([1.0, 1.0]), lambda: seen * 2.0)
    assert run(tf.reshape(later, [2])).tolist() == [4.0, 6.0]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_each_iteration_sees_the_variable_through_a_view(view):
    v = tf.Variable([1.0, 2.0])
    seen = view(v)

    def body(i, _):
        return after(v.assign_add([1.0, 1.0]), lambda: (i + 1, seen * 2.0))

    last = tf.while_loop(lambda i, _: i < 3, body, [0, tf.zeros_like(seen)])[1]
    assert run(tf.reshape(last, [2])).tolist() == [8.0, 10.0]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_what_a_view_waits_for_happens(view):
    v, count = tf.Variable([1.0, 2.0]), tf.Variable(0)
    seen = after(count.assign_add(1), lambda: view(v))

    def body(i, _):
        return after(v.assign_add([5.0, 5.0]), lambda: (i + 1, seen + 0.0))

    last = tf.while_loop(lambda i, _: i < 2, body, [0, tf.zeros_like(seen)])[1]
    later = after(v.assign_add([5.0, 5.0]), lambda: seen + 0.0)
    for fetched, expected in ((later, [6.0, 7.0]), (last, [11.0, 12.0])):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(fetched).reshape(-1).tolist() == expected
            assert session.run(count) == 1


def test_a_variable_that_is_a_shape_is_no_viewed_tensor():
    v, x = tf.Variable([2, 3]), tf.placeholder_with_default(np.arange(6.0), [None])
    shaped = tf.reshape(x, v)
    later = after(after(shaped, lambda: v.assign([3, 2])), lambda: shaped * 1.0)
    assert run(later).shape == (2, 3)


def test_a_view_in_a_branch_of_a_loop_follows_the_update_before_it():
    v = tf.Variable([2.0, 4.0])

    def changed():
        seen = after(v.assign_add([1.0, 1.0]), lambda: tf.expand_dims(v, 0))
        return after(after(seen, lambda: v.assign(tf.squeeze(seen, 0))), lambda: v * 1.0)

    def body(i, total):
        taken = tf.placeholder_with_default(True, ())
        return i + 1, total * 0.5 + tf.cond(taken, changed, lambda: v * 2.0)

    total = tf.while_loop(lambda i, _: i < 3, body, [0, tf.zeros([2])], parallel_iterations=1)[1]
    found = run([total, after(total, lambda: v + 0.0)])
    assert [each.tolist() for each in found] == [[7.75, 11.25], [5.0, 7.0]]


def test_an_update_by_its_own_value_after_a_loop_that_writes():
    v = tf.Variable([2.0, 4.0])
    first = v.assign(v * 1.0)

    def body(i):
        return after(tf.scatter_add(v, [1], [1.0]), lambda: i + 1)

    last = after(first, lambda: tf.while_loop(lambda i: i < 3, body, [0]))
    again = after(last, lambda: v.assign(v))
    assert run(after(again, lambda: v + 0.0)).tolist() == [2.0, 7.0]


def test_an_assignment_of_another_size_leaves_the_read_before_it():
    v = tf.Variable([1.0, 2.0], validate_shape=False)
    old = v.value()
    larger = after(old, lambda: tf.assign(v, tf.zeros([3]), validate_shape=False))
    assert run(after(larger, lambda: [old[:2] + 0.0, v + 0.0])[0]).tolist() == [1.0, 2.0]


def test_what_is_computed_from_a_read_stays():
    v = tf.Variable([1.0, 2.0])
    old = v * 1.0
    later = after(old, lambda: after(v.assign_add([1.0, 1.0]), lambda: v - old))
    assert run(later).tolist() == [1.0, 1.0]


def test_a_write_of_another_variable_changes_nothing():
    v, u = tf.Variable(1.0), tf.Variable(2.0)
    with tf.control_dependencies([u.assign(9.0)]):
        total = v + u
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plan = session.explain(total)
    report = next(each for each in plan.reports if each.name == "read_after_write")
    assert report.summary.startswith("1 reads")
    assert [line.partition(":")[0].startswith("Variable_1/read") for line in report.lines] == [True]


def test_a_run_without_writes_keeps_the_shared_reads():
    v = tf.Variable(np.ones(3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plan = session.explain([v + 1.0, v * 2.0])
    report = next(report for report in plan.reports if report.name == "read_after_write")
    assert report.summary.startswith("0 reads")
    assert [each.op_type for each in plan.placed].count("Identity") == 1


def after(op: tf.Operation | tf.Tensor, make) -> tf.Tensor:
    with tf.control_dependencies([op]):
        return make()


@pytest.mark.parametrize("taken", [False, True])
def test_a_write_in_a_branch_is_seen_by_who_comes_after_the_branch(taken):
    """If the branch is not taken the write is dead, and the ops after it live all the same."""
    v = tf.Variable(1.0)
    written = tf.cond(
        tf.placeholder_with_default(taken, []), lambda: v.assign(5.0) + 0.0, lambda: tf.zeros([])
    )
    seen = after(written, lambda: [v + 0.0, v * 2.0, tf.identity(v)])
    apart = v - 1.0
    assert run([*seen, apart]) == ([5.0, 10.0, 5.0, 0.0] if taken else [1.0, 2.0, 1.0, 0.0])


def test_users_in_one_branch_see_what_was_written_in_another_one():
    v, p = tf.Variable(1.0), tf.placeholder_with_default(True, [])
    first = tf.cond(p, lambda: v.assign(5.0) + 0.0, lambda: v * 1.0)
    asked = after(first, lambda: tf.logical_not(p))
    second = tf.cond(asked, lambda: v * 100.0, lambda: v * 10.0)
    assert run([first, second]) == [5.0, 50.0]


@pytest.mark.parametrize("times", [0, 1, 3])
def test_the_writes_of_a_loop_are_seen_by_who_comes_after_it(times):
    v = tf.Variable([1.0, 2.0])
    last = tf.while_loop(
        lambda i: i < times, lambda i: after(v.assign_add([1.0, 1.0]), lambda: i + 1), [0]
    )
    seen = after(last, lambda: [v + 0.0, tf.identity(v), v.read_value()])
    apart = v + 0.0
    want = [1.0 + times, 2.0 + times]
    assert [each.tolist() for each in run([*seen, apart])] == [want, want, want, [1.0, 2.0]]


def test_the_writes_of_an_inner_loop_are_seen_in_the_outer_one():
    v = tf.Variable(0.0)

    def body(i, seen):
        inner = tf.while_loop(
            lambda j: j < 2, lambda j: after(v.assign_add(1.0), lambda: j + 1), [0]
        )
        return i + 1, after(inner, lambda: seen * 10.0 + v)

    assert run(tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])[1]) == 246.0


def test_each_iteration_reads_what_the_last_one_wrote():
    v = tf.Variable(1.0)

    def body(i, seen):
        read = seen * 10.0 + v
        return after(v.assign_add(read * 0.0 + 1.0), lambda: i + 1), read

    assert run(tf.while_loop(lambda i, _: i < 4, body, [0, 0.0])[1]) == 1234.0


def test_a_loop_that_writes_the_variable_it_begins_with():
    v = tf.Variable([1.0, 2.0])

    def body(i, x):
        return i + 1, after(v.assign_add(x), lambda: x * 2.0)

    last = tf.while_loop(lambda i, _: i < 3, body, [0, v])[1]
    seen = after(last, lambda: v + 0.0)
    assert [each.tolist() for each in run([last, seen])] == [[8.0, 16.0], [8.0, 16.0]]


def test_a_loop_that_begins_with_what_was_written():
    v = tf.Variable(1.0)
    start = after(v.assign(5.0), lambda: v + 0.0)
    last = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x + v), [0, start])[1]
    assert run(last) in (7.0, 15.0)  # the loop's own reads are ordered after nothing
    held = after(v.assign(5.0), lambda: tf.identity(v))
    assert run(tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x * 2.0), [0, held])[1]) == 20

"""Runs that read iterators and queues first, and are fed with the elements."""

import re
import time

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.graph.client.source_runs import source_run


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


ROWS = np.arange(44.0, dtype=np.float32).reshape(11, 4) / 10


def batches(size=4):
    return tf.data.Dataset.from_tensor_slices(ROWS).batch(size).make_initializable_iterator()


def trained(x):
    """A loss and a training step for rows `x`."""
    weights = tf.get_variable("weights", [4, 3], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.square(tf.nn.relu(tf.matmul(x, weights)) - 1.0))
    return loss, tf.train.GradientDescentOptimizer(0.01).minimize(loss), weights


def test_a_training_on_an_iterator_equals_one_on_feeds():
    fed = tf.placeholder(tf.float32, [None, 4])
    loss, step, weights = trained(fed)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = [session.run([loss, step], {fed: ROWS[i : i + 4]})[0] for i in (0, 4, 8)]
        expected.append(session.run(weights).sum())
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = batches()
        loss, step, weights = trained(iterator.get_next())
        session.run([tf.global_variables_initializer(), iterator.initializer])
        found = [session.run([loss, step])[0] for _ in range(3)]
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence") as caught:
            session.run([loss, step])
        assert caught.value.op.type == "IteratorGetNext"
        found.append(session.run(weights).sum())
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_rest_has_planned_memory_for_each_shape():
    iterator = batches()
    result = tf.reduce_sum(tf.exp(iterator.get_next() * 2.0), 1)
    with tf.Session() as session:
        before = str(session.explain(result))
        session.run(iterator.initializer)
        sums = np.concatenate([session.run(result) for _ in range(3)])
        after = session.explain(result)
    np.testing.assert_allclose(sums, np.exp(ROWS * 2).sum(1), rtol=1e-6)
    assert "are sized at run time" in before
    assert not re.search(r"[1-9]\d* are sized at run time", str(after))
    assert after.device_of("IteratorGetNext").endswith("CPU:0")


def test_fetches_may_be_elements():
    iterator = tf.data.Dataset.range(7).map(lambda x: (x, tf.as_string(x))).batch(3)
    iterator = iterator.make_initializable_iterator()
    numbers, texts = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for first in (0, 3, 6):
            number, doubled, text = session.run([numbers, numbers * 2, texts])
            assert number.tolist() == list(range(first, min(first + 3, 7)))
            assert doubled.tolist() == [2 * each for each in number]
            assert text.tolist() == [str(each).encode() for each in number]


def test_an_element_without_uses_is_read_all_the_same():
    iterator, count = batches(2), tf.Variable(0)
    element = iterator.get_next()
    with tf.control_dependencies([element]):
        counted = tf.assign_add(count, 1)
    with tf.Session() as session:
        session.run([count.initializer, iterator.initializer])
        session.run(counted)
        session.run([counted.op, element.op])
        assert session.run(element)[0, 0] == ROWS[4, 0]
        assert session.run(count) == 2


def test_a_fed_element_is_not_read():
    iterator = batches()
    element = iterator.get_next()
    doubled = element * 2.0
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(doubled, {element: [[1.0] * 4]}).tolist() == [[2.0] * 4]
        assert session.run(doubled)[0].tolist() == (ROWS[0] * 2).tolist()


def test_a_handle_may_be_fed():
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, tf.float32, [None, 4])
    scale = tf.placeholder(tf.float32, [])
    total = tf.reduce_sum(iterator.get_next()) * scale
    one, other = batches(2), batches(3)
    with tf.Session() as session:
        handles = session.run([one.string_handle(), other.string_handle()])
        session.run([one.initializer, other.initializer])
        for number, rows in ((0, ROWS[:2]), (1, ROWS[:3]), (0, ROWS[2:4]), (1, ROWS[3:6])):
            found = session.run(total, {scale: 2.0, handle: handles[number]})
            np.testing.assert_allclose(found, 2 * rows.sum(), rtol=1e-6)


def test_a_queue_is_a_source():
    queue = tf.PaddingFIFOQueue(20, [tf.float32], [[None]])
    value = tf.placeholder(tf.float32, [None])
    put, total = queue.enqueue([value]), tf.reduce_sum(tf.exp(queue.dequeue()), 0)
    with tf.Session() as session:
        for size in (1, 5, 2):
            session.run(put, {value: np.zeros(size)})
        session.run(queue.close())
        assert [session.run(total) for _ in range(3)] == [1, 5, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient"):
            session.run(total)


def test_a_trace_has_the_steps_of_both_parts():
    iterator = batches()
    loss, step, _ = trained(iterator.get_next())
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    options.output_partition_graphs = True
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initializer])
        session.run([loss, step], options=options, run_metadata=metadata)
        report = session.report(None, [loss, step])
    stats = [each for device in metadata.step_stats.dev_stats for each in device.node_stats]
    starts = {each.node_name: each.all_start_micros for each in stats}
    assert starts["IteratorGetNext"] <= starts["MatMul"]
    names = [node.name for part in metadata.partition_graphs for node in part.node]
    assert {"IteratorGetNext", "MatMul"} <= set(names)
    assert "IteratorGetNext" in report.html()


def test_a_time_limit_covers_both_parts():
    slow = tf.data.Dataset.range(5).map(lambda x: tf.py_func(sleeping, [x], tf.int64)).batch(2)
    element = slow.make_one_shot_iterator().get_next()
    result = tf.reshape(element, [-1]) + 1
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(result, options=tf.RunOptions(timeout_in_ms=20))


def sleeping(value):
    time.sleep(0.5)
    return value


def run_of(result):
    return source_run([], [result], [])


def test_only_what_can_be_cut_is_cut():
    iterator = batches()
    element = iterator.get_next()
    fixed = tf.data.Dataset.range(4).make_one_shot_iterator().get_next()
    chosen = tf.cond(tf.constant(True), iterator.get_next, lambda: tf.zeros([1, 4]))
    with tf.control_dependencies([tf.assign_add(tf.Variable(1.0), 1.0)]):
        after_update = iterator.get_next()
    cut = run_of(element * 2.0)
    assert cut is not None
    assert [op.type for op in cut.operations] == ["IteratorGetNext"]
    assert run_of(element) is None  # nothing follows
    assert run_of(fixed * 2) is None  # its shape is known
    assert run_of(chosen * 2.0) is None
    assert run_of(after_update * 2.0) is None


def test_elements_of_strings_may_be_scalars():
    rows = tf.data.Dataset.from_generator(
        lambda: iter([(f"row {i}", np.ones(i)) for i in (1, 2)]),
        (tf.string, tf.float32),
        ([], [None]),
    )
    key, values = rows.make_one_shot_iterator().get_next()
    fetches = [key, tf.string_join([key, "!"]), tf.reduce_sum(values)]
    with tf.Session() as session:
        assert session.run(fetches) == [b"row 1", b"row 1!", 1.0]
        assert session.run(fetches) == [b"row 2", b"row 2!", 2.0]


def test_a_counter_at_its_limit_ends_a_run_that_would_wait_for_an_element():
    queue = tf.FIFOQueue(4, [tf.float32])
    counter = tf.Variable(0).count_up_to(1)
    element = queue.dequeue()
    fetches = [tf.reduce_sum(element), counter]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), queue.enqueue([[1.0, 2.0]])])
        assert session.run(fetches) == [3.0, 0]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 1"):
            session.run(fetches)

"""Memory, threads and files stay as they are over many batches, iterators and sessions.

The runs marked exhaustive are those of 100,000 batches, 1,000 iterators and 100 sessions.
"""

from __future__ import annotations

import gc
import os
import threading
import time

import numpy as np
import pytest

import gpugraph as tf

D = tf.data.Dataset


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def paths(tmp_path):
    found = [str(tmp_path / f"{number}.records") for number in range(3)]
    for path in found:
        with tf.io.TFRecordWriter(path) as writer:
            for number in range(50):
                writer.write(np.arange(number, number + 8, dtype=np.float32).tobytes())
    return found


def pipeline(paths):
    """Return a dataset that reads files, and computes in threads."""
    dataset = D.from_tensor_slices(paths).shuffle(3, seed=1)
    dataset = dataset.interleave(tf.data.TFRecordDataset, 2, num_parallel_calls=2)
    dataset = dataset.shuffle(20, seed=2).repeat()
    dataset = dataset.map(lambda record: tf.decode_raw(record, tf.float32), num_parallel_calls=2)
    dataset = dataset.map(lambda row: row * 2 + tf.random_normal([8], seed=3))
    return dataset.batch(2).prefetch(2)


def threads():
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("gpugraph_data"))


def files():
    return sorted(
        os.readlink(f"/proc/self/fd/{number}")
        for number in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{number}")
    )


def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def live():
    gc.collect()
    return len(gc.get_objects())


def check_batches(paths, count):
    """Read `count` batches; nothing grows after the first tenth."""
    iterator = pipeline(paths).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        step = session.make_callable(following)
        for _ in range(count // 10):
            step()
        objects, memory, opened = live(), resident_kib(), len(files())
        for _ in range(count - count // 10):
            step()
        assert live() - objects < 500
        assert len(files()) <= opened + 2  # those that the interleave has open
        assert resident_kib() - memory < 8 * 1024
    assert threads() == []


def check_iterators(paths, count):
    """Initialize an iterator `count` times, and read some elements each time."""
    iterator = pipeline(paths).make_initializable_iterator()
    following = iterator.get_next()
    before = files()
    with tf.Session() as session:
        for number in range(count):
            session.run(iterator.initializer)
            session.run(following)
            if number == count // 10:
                objects, memory, count_of_threads = live(), resident_kib(), len(threads())
        assert live() - objects < 500
        assert resident_kib() - memory < 8 * 1024
        assert len(threads()) <= count_of_threads + 2
    assert threads() == []
    assert files() == before


def check_sessions(paths, count):
    """Open `count` sessions, each of which ends in another way."""
    following = pipeline(paths).make_one_shot_iterator().get_next()
    failing = D.range(9).map(lambda x: tf.py_func(_fail, [x], tf.int64), 2).prefetch(2)
    error = failing.make_one_shot_iterator().get_next()
    missing = tf.data.TFRecordDataset([paths[0], "/nowhere"]).prefetch(1)
    lost = missing.skip(49).make_one_shot_iterator().get_next()
    gc.collect()  # files of other tests
    before = files()
    for number in range(count):
        with tf.Session() as session:
            session.run(following)
            if number % 3 == 0:
                with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: three"):
                    for _ in range(5):
                        session.run(error)
            if number % 3 == 1:
                session.run(lost)
                with pytest.raises(tf.errors.NotFoundError):
                    session.run(lost)
        if number == count // 10:
            objects, memory = live(), resident_kib()
    assert threads() == []
    assert files() == before
    assert live() - objects < 500
    assert resident_kib() - memory < 8 * 1024


def _fail(value):
    if value == 3:
        raise ValueError("three")
    return value


CHECKS = {"batches": (check_batches, 1500, 100_000), "iterators": (check_iterators, 40, 1000)}
CHECKS["sessions"] = (check_sessions, 12, 100)


@pytest.mark.parametrize("name", ["sessions"])
def test_nothing_grows(name, paths):
    check, few, _ = CHECKS[name]
    check(paths, few)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CHECKS)
def test_nothing_grows_in_long_runs(name, paths):
    check, _, many = CHECKS[name]
    check(paths, many)


def test_a_session_that_closes_while_a_thread_reads(paths):
    following = pipeline(paths).make_one_shot_iterator().get_next()
    slow = D.range(100).map(lambda x: tf.py_func(_slow, [x], tf.int64)).prefetch(1)
    waiting = slow.make_one_shot_iterator().get_next()
    errors = []
    session = tf.Session()

    def read():
        try:
            while True:
                session.run(waiting)
        except tf.errors.OpError as error:
            errors.append(error)

    before = files()
    session.run(following)
    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.05)
    session.close()
    reader.join(20)
    assert not reader.is_alive()
    assert isinstance(errors[0], tf.errors.CancelledError)
    assert threads() == []
    assert set(files()) <= set(before)


def _slow(value):
    time.sleep(0.02)
    return value


def test_a_forked_child_reads_by_a_session_of_its_own(paths):
    iterator = pipeline(paths).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(following)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with tf.Session() as own:
                    own.run(iterator.initializer)
                    own.run(following)
                code = len(threads())
            finally:
                os._exit(code)
        deadline = time.monotonic() + 60
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert os.waitstatus_to_exitcode(done[1]) == 0
        session.run(following)
    assert threads() == []

"""Large tensors between tasks of one machine: in shared memory, which is reused once read.

One case starts processes, which accounts for its time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import shared_segments, transport, wire_values
from gpugraph.cluster.shared_segments import SegmentName, SegmentPool
from gpugraph.cluster.wire_values import Parcels

from .local_cluster import local_cluster, over_grpc, server_processes

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
pytestmark = pytest.mark.skipif(not shared_segments.is_possible(), reason="memfd is Linux's")

FIRST, SECOND, THIRD = (f"/job:worker/task:{task}" for task in range(3))
SIZE = 1 << 19
"""Of a float32 tensor that is a parcel."""

Servers = dict[tuple[str, int], Any]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with local_cluster(worker=3) as servers:
        yield servers


@pytest.fixture
def target(servers: Servers) -> Iterator[str]:
    with over_grpc(servers["worker", 0]) as target, tf.Graph().as_default():
        yield target
        tf.Session.reset(target)


def refused(*arguments: Any) -> Any:
    raise AssertionError("A tensor went over gRPC")


def sent_and_back() -> tuple[Any, Any]:
    """Return a placeholder on one task, and its value after a trip to another task and back."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device(SECOND):
        shifted = x + 1.0
    with tf.device(FIRST):
        doubled = shifted * 2.0
    with tf.device(SECOND):
        return x, tf.reduce_sum(doubled)


def wait_until(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.005)


def num_waiting(servers: Servers) -> int:
    return sum(len(server._listener.parcels._parcels) for server in servers.values())


def test_steps_read_what_was_sent_in_each(
    servers: Servers, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, total = sent_and_back()
    monkeypatch.setattr(transport.Peer, "fetch", refused)
    opened: list[int] = []
    begin = shared_segments.Segment.__init__

    def counted(segment: Any, size: int) -> None:
        opened.append(size)
        begin(segment, size)

    monkeypatch.setattr(shared_segments.Segment, "__init__", counted)
    with tf.Session(target) as session:
        for number in range(8):
            for size in (SIZE + 8, SIZE + 1000):
                value = np.full(size, number, np.float32)
                assert session.run(total, {x: value}) == size * (number + 1) * 2
        wait_until(lambda: num_waiting(servers) == 0)
    assert 0 < len([size for size in opened if size > SIZE]) <= 6  # of 32 tensors


def test_scalars_of_all_kinds_go_along(target: str) -> None:
    x, text = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.string, [])
    with tf.device(SECOND):
        sent = x + 1.0, tf.identity(text), tf.reduce_sum(x), tf.strings.length(text)
    with tf.device(FIRST):
        received = [tf.identity(tensor) for tensor in sent]
    with tf.Session(target) as session:
        for number in range(3):
            value = np.full(SIZE, number, np.float32)
            got = session.run(received, {x: value, text: "ab"})
            np.testing.assert_array_equal(got[0], value + 1)
            assert got[1:] == [b"ab", number * SIZE, 2]


def test_a_client_reads_what_it_fetches(
    servers: Servers, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device(FIRST):
        doubled, text, tripled = x * 2.0, tf.constant("text"), x * 3.0
    monkeypatch.setattr(transport.Peer, "fetch", refused)
    with tf.Session(target) as session:
        results = []
        for number in range(6):
            results.append(session.run([doubled, text, tripled], {x: np.full(SIZE, number)}))
        for number, (first, word, second) in enumerate(results):
            assert word == b"text"
            for result, factor in ((first, 2.0), (second, 3.0)):
                np.testing.assert_array_equal(result, np.full(SIZE, number * factor))
                result += 1.0  # it is the program's own
        wait_until(lambda: num_waiting(servers) == 0)


def test_a_session_that_is_closed_while_a_client_reads(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device(FIRST):
        doubled = x * 2.0
    session = tf.Session(target)
    see_values = transport.Peer.see_values

    def seen_and_closed(*arguments: Any) -> list[Any]:
        values = see_values(*arguments)
        session.close()
        return values

    monkeypatch.setattr(transport.Peer, "see_values", seen_and_closed)
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
        session.run(doubled, {x: np.zeros(SIZE, np.float32)})


def test_processes_read_each_others_tensors() -> None:
    with server_processes(1, worker=2) as spec, tf.Graph().as_default():
        with tf.device(SECOND):
            v = tf.Variable(np.arange(SIZE, dtype=np.float32))
            sent = v.assign_add(tf.ones([SIZE])) + 0.0
            texts = tf.strings.as_string(tf.cast(v, tf.int32))
        with tf.device(FIRST):
            received, first = sent * 2.0, tf.strings.length(texts)
            total = tf.reduce_sum(first)
        with tf.Session(f"grpc://{spec['worker'][0]}") as session:
            session.run(v.initializer)
            for number in range(1, 5):
                np.testing.assert_array_equal(
                    session.run(received), (np.arange(SIZE, dtype=np.float32) + number) * 2
                )
            texts_value = [str(number) for number in range(4, SIZE + 4)]
            assert session.run(total) == sum(map(len, texts_value))


def test_a_tensor_for_several_tasks_and_the_client(
    servers: Servers, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device(SECOND):
        shifted = x + 1.0
        back = shifted - 1.0
    with tf.device(FIRST):
        first = tf.reduce_sum(shifted)
    with tf.device(THIRD):
        third = shifted * 3.0
    with tf.device(FIRST):
        last = tf.reduce_sum(third) + tf.reduce_sum(shifted)
    with tf.Session(target) as session:
        for number in range(3):
            value = np.full(SIZE, number, np.float32)
            got = session.run([shifted, back, first, last], {x: value})
            np.testing.assert_array_equal(got[0], value + 1)
            np.testing.assert_array_equal(got[1], value)
            assert got[2:] == [SIZE * (number + 1), SIZE * (number + 1) * 4]
        monkeypatch.setattr(transport.Peer, "fetch", refused)
        for number in range(3):
            value = np.full(SIZE, number, np.float32)
            assert session.run(last, {x: value}) == SIZE * (number + 1) * 4
    wait_until(lambda: num_waiting(servers) == 0)


def test_steps_at_the_same_time(servers: Servers, target: str) -> None:
    x, total = sent_and_back()
    wrong: list[float] = []
    with tf.Session(target) as session:

        def run(thread: int) -> None:
            for number in range(thread, 40, 4):
                result = session.run(total, {x: np.full(SIZE, number, np.float32)})
                if result != SIZE * (number + 1) * 2:
                    wrong.append(result)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    wait_until(lambda: num_waiting(servers) == 0)


@pytest.mark.parametrize("is_near", [False, True])
def test_who_sees_nothing_fetches(
    is_near: bool, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, total = sent_and_back()
    if is_near:  # the sender thinks that the other sees it
        monkeypatch.setattr(SegmentPool, "map", lambda *_: None)
    else:
        monkeypatch.setattr(transport.Peer, "is_near", lambda _: False)
        monkeypatch.setattr(Parcels, "share", refused)
    with tf.Session(target) as session:
        for number in range(4):
            value = np.full(SIZE, number, np.float32)
            assert session.run(total, {x: value}) == SIZE * (number + 1) * 2
        last = str(session.explain(total, {x: value})).splitlines()[-1]
    way = f"{SECOND.replace('/task', '/replica:0/task')} and "
    assert (last.startswith(way) and last.endswith("tensors go over gRPC")) is not is_near


def test_a_failed_step_leaves_nothing(
    servers: Servers, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device(SECOND):
        shifted = x + 1.0
    with tf.device(FIRST):
        total = tf.reduce_sum(tf.check_numerics(shifted, "bad"))
    monkeypatch.setattr(wire_values, "_KEPT_OF_ENDED_S", 0.0)
    with tf.Session(target) as session:
        for number in range(4):
            value = np.full(SIZE, number, np.float32)
            assert session.run(total, {x: value}) == SIZE * (number + 1)
            value[7] = np.nan
            with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had NaN"):
                session.run(total, {x: value})
        assert session.run(total, {x: np.zeros(SIZE)}) == SIZE
        wait_until(lambda: num_waiting(servers) == 0)


def test_what_was_not_read_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parcels, reader = Parcels(), SegmentPool()
    shared = parcels.share(np.full(SIZE, 1, np.uint8), owners=(5, ""))
    assert shared is not None
    ticket, name = shared
    seen = reader.map(name)
    assert seen is not None
    monkeypatch.setattr(wire_values, "_KEPT_OF_ENDED_S", -1.0)
    parcels.end(5)
    with pytest.raises(tf.errors.NotFoundError):
        parcels.take(ticket)
    parcels.free([ticket, "no ticket"])
    again = parcels.share(np.full(SIZE, 2, np.uint8))
    assert again is not None and again[1] != name
    assert (seen[:SIZE] == 1).all()
    parcels.free([again[0]])
    used = parcels.share(np.full(SIZE - 8, 3, np.uint8))  # of about that size
    assert used is not None and used[1] == again[1]


def test_the_last_holder_gives_a_lease_back() -> None:
    pool = SegmentPool()
    lease = pool.lend(SIZE)
    assert lease is not None and lease.content.nbytes == SIZE
    assert pool.lease_of(lease.content) is lease
    assert pool.lease_of(lease.content[:8]) is None
    assert pool.lease_of(np.zeros(SIZE, np.uint8)) is None
    lease.drop()
    other = pool.lend(SIZE)
    assert other is not None and other.name != lease.name
    lease.drop()
    assert pool.lease_of(lease.content) is None
    again = pool.lend(SIZE)
    assert again is not None and again.name == lease.name


def test_a_segment_that_can_not_be_had_closes_its_file_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    closed: list[int] = []
    close = os.close
    monkeypatch.setattr(os, "posix_fallocate", _full)
    monkeypatch.setattr(os, "close", lambda file: (closed.append(file), close(file)))
    pool = SegmentPool()
    assert pool.lend(SIZE) is None
    assert len(closed) == 1
    assert pool.lend(SIZE) is None
    (record,) = caplog.records
    assert record.getMessage() == (
        f"Tensors go over gRPC: no {SIZE} bytes of shared memory (no space)"
    )


def _full(*_: Any) -> None:
    raise OSError("no space")


def test_what_is_no_segment_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    file = os.open(tmp_path / "fifo", os.O_RDWR)
    link = SegmentName(os.getpid(), file, bytes(32), SIZE)
    reader = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_NONBLOCK)
    os.close(file)
    try:
        assert shared_segments.mapped(link._replace(number=reader)) is None  # nobody writes there
    finally:
        os.close(reader)

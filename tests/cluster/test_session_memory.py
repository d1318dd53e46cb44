"""The state that sessions keep on servers: statistics of memory, and tensors behind handles."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import wire_values

from .local_cluster import local_cluster, over_grpc

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

Servers = dict[tuple[str, int], Any]
TASKS = [f"/job:worker/replica:0/task:{task}" for task in range(2)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Servers]:
    with local_cluster(worker=2) as servers:
        yield servers


@pytest.fixture(params=["called", "over gRPC"])
def session(cluster: Servers, request: pytest.FixtureRequest) -> Iterator[tf.Session]:
    server = cluster["worker", 0]
    place = over_grpc(server) if request.param == "over gRPC" else nullcontext(server.target)
    with tf.Graph().as_default(), place as target, tf.Session(target) as session:
        yield session
    tf.Session.reset(server.target)


def num_kept(cluster: Servers, task: int) -> int:
    sessions = cluster["worker", task]._worker._sessions.values()
    return sum(len(session.direct.kept_tensors._blocks) for session in sessions)


def handles_on(*devices: str) -> tuple[Any, list[Any]]:
    """Handles of twice a placeholder, on these devices."""
    x = tf.placeholder(tf.float32, [None])
    handles = []
    for device in devices:
        with tf.device(device):
            handles.append(tf.get_session_handle(x * 2))
    return x, handles


def test_memory_of_the_devices_of_all_tasks(session: tf.Session) -> None:
    with tf.device(TASKS[1]):
        v = tf.get_variable("held_there", initializer=tf.zeros([1000]))
    session.run(v.initializer)
    stats = session.memory_stats()
    assert list(stats) == [f"{task}/device:CPU:0" for task in TASKS]
    there = stats[f"{TASKS[1]}/device:CPU:0"]
    assert there.owners["held_there"] == 4000
    assert there.bytes_in_use >= 4000 <= there.peak_bytes_in_use
    assert there.bytes_limit is not None and there.bytes_reservable_limit is None
    assert session.release_memory() >= 0
    assert session.run(v).shape == (1000,)


def test_a_handle_of_another_task_is_read_fed_and_deleted(
    session: tf.Session, cluster: Servers
) -> None:
    x, handles = handles_on(*TASKS)
    first, second = session.run(handles, {x: [1.0, 2.0]})
    assert f"{TASKS[1]}/device:CPU:0" in str(second)
    assert first.eval().tolist() == second.eval().tolist() == [2.0, 4.0]
    holder, kept = tf.get_session_tensor(second.handle, tf.float32)
    total = tf.reduce_sum(kept)
    assert session.run(total, {holder: second.handle}) == 6.0
    with tf.device(TASKS[0]):
        y = tf.placeholder(tf.float32, [None]) + 0.0
    assert session.run(y + 1, {y: second}).tolist() == [3.0, 5.0]
    second.delete()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        session.run(total, {holder: str(second)})
    raw = first.get_raw_handle()
    deleted, delete = tf.delete_session_tensor(raw)
    session.run(delete, {deleted: raw})
    assert num_kept(cluster, 0) == num_kept(cluster, 1) == 0


def test_a_dropped_handle_goes_with_the_next_run(session: tf.Session, cluster: Servers) -> None:
    x, (handle,) = handles_on(TASKS[1])
    for _ in range(3):
        kept = session.run(handle, {x: [1.0]})
    assert num_kept(cluster, 1) == 2
    del kept
    session.run(x, {x: [1.0]})
    session.memory_stats()
    assert num_kept(cluster, 1) == 0


def test_a_large_tensor_behind_a_handle(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_values, "INLINE_BYTES", 100)
    x, (handle,) = handles_on(TASKS[1])
    value = session.run(handle, {x: np.arange(100.0)}).eval()
    np.testing.assert_array_equal(value, 2 * np.arange(100.0, dtype=np.float32))


def test_a_step_that_fails_keeps_nothing(session: tf.Session, cluster: Servers) -> None:
    x, (handle,) = handles_on(TASKS[1])
    with tf.device(TASKS[0]):
        there = tf.identity(x * 2)
    with tf.device(TASKS[1]), tf.control_dependencies([handle.op]):
        bad = tf.check_numerics(there, "bad")
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        session.run([handle, bad], {x: [np.nan]})
    assert num_kept(cluster, 1) == 0


def test_a_part_that_was_over_when_another_failed_keeps_nothing(
    session: tf.Session, cluster: Servers
) -> None:
    for kept, failing in ((0, 1), (1, 0)):
        x, (handle,) = handles_on(TASKS[kept])
        with tf.device(TASKS[failing]):
            bad = tf.check_numerics(tf.py_func(_late, [x], tf.float32), "bad")
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            session.run([handle, bad], {x: [np.nan]})
        limit = time.monotonic() + 20
        while num_kept(cluster, kept) and time.monotonic() < limit:
            time.sleep(0.01)  # other tasks are notified of the end, and not waited for
        assert num_kept(cluster, kept) == 0
        assert session.run(handle, {x: [1.0]}).eval().tolist() == [2.0]


def _late(value: Any) -> Any:
    time.sleep(0.1)
    return value


def test_handles_of_no_session(session: tf.Session) -> None:
    x, (handle,) = handles_on(TASKS[1])
    kept = session.run(handle, {x: [1.0]})
    for device in ("/job:none/replica:0/task:0/device:CPU:0", f"{TASKS[0]}/device:CPU:0"):
        kept._handle = f"a;7;{device}"
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            kept.eval()
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            session._backend.kept_tensors.delete(str(kept))


def test_texts_and_handles_go_to_other_tasks(session: tf.Session, cluster: Servers) -> None:
    x, (handle,) = handles_on(TASKS[1])
    text = tf.placeholder(tf.string, [])
    with tf.device(TASKS[1]):
        there = tf.string_join([text, "b"])
    with tf.device(TASKS[0]):
        here = tf.string_join([there, "c", handle])
    joined = session.run(here, {x: [1.0], text: "a"})
    assert joined.startswith(b"abcGetSessionHandle;")
    assert num_kept(cluster, 1) == 0  # nobody has fetched it

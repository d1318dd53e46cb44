"""Sessions whose client, or whose master, goes without a word."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.cluster import call_streams
from gpugraph.cluster.access import access_of_environment
from gpugraph.cluster.call_streams import Caller, SessionClients, answering
from gpugraph.cluster.transport import Peer
from gpugraph.ops.collectives.collective_ops import all_reduce

from .collective_wire import all_ranks
from .local_cluster import local_cluster, over_grpc

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

Servers = dict[tuple[str, int], Any]
TASKS = ["/job:worker/task:0", "/job:worker/task:1"]
KEPT_S = 0.2


@pytest.fixture(scope="module")
def cluster() -> Iterator[Servers]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call_streams, "_MOMENT_S", 0.05)
        patch.setenv("GPUGRAPH_SESSION_GC", str(KEPT_S))
        with local_cluster(worker=2) as servers:
            yield servers


@pytest.fixture
def servers(cluster: Servers) -> Iterator[Servers]:
    with tf.Graph().as_default():
        yield cluster
    tf.Session.reset(cluster["worker", 0].target)


def until(is_so: Callable[[], Any]) -> None:
    limit = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.01)


def vanish(session: Any) -> None:
    """Loses a session's connection, as its process would that is killed."""
    session._backend.master._peer.close()
    session._backend._is_closed = True


def num_sessions(servers: Servers) -> list[int]:
    """On each server: of its master, and of its worker."""
    return [
        len(sessions)
        for server in servers.values()
        for sessions in (server.master._sessions, server._worker._sessions)
    ]


def test_a_session_whose_client_has_gone_is_closed_and_variables_stay(servers: Servers) -> None:
    with tf.device(TASKS[1]):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
    with over_grpc(servers["worker", 0]) as target:
        lost, other = tf.Session(target), tf.Session(target)
        lost.run(v.initializer)
        other.run(v)
        assert num_sessions(servers) == [2, 0, 0, 2]
        graph = weakref.ref(servers["worker", 0].master.session(lost._backend._handle).graph)
        vanish(lost)
        until(lambda: num_sessions(servers) == [1, 0, 0, 1])
        gc.collect()
        assert graph() is None
        time.sleep(2 * KEPT_S)
        assert other.run(v).tolist() == [1.0, 2.0]  # it is idle, but there
        other.close()
        assert num_sessions(servers) == [0, 0, 0, 0]


def test_a_client_that_comes_back_finds_its_session(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = servers["worker", 0]._clients
    monkeypatch.setattr(clients, "_steps", [(20.0, clients._steps[1][1])])
    v = tf.get_variable("v", initializer=1.0)
    with over_grpc(servers["worker", 0]) as target, tf.Session(target) as session:
        session.run(v.initializer)
        session._backend.master._peer.close()
        until(lambda: clients._due)
        address = target.removeprefix("grpc://")
        session._backend.master._peer = Peer(address, access_of_environment())
        assert session.run(v) == 1.0
        assert not clients._due


@pytest.mark.parametrize("task", TASKS)
def test_a_handle_of_a_lost_session_is_aborted(servers: Servers, task: str) -> None:
    with tf.device(task):
        handle = tf.get_session_handle(tf.constant([1.0, 2.0]))
    with over_grpc(servers["worker", 0]) as target, tf.Session(target) as session:
        kept = session.run(handle)
        assert kept.eval().tolist() == [1.0, 2.0]
        servers["worker", 0]._close_lost(session._backend._handle)
        with pytest.raises(tf.errors.AbortedError, match="has no session"):
            kept.eval()
        with pytest.raises(tf.errors.AbortedError, match="has no session"):
            kept.delete()


def test_a_handle_that_only_its_worker_has_lost_is_aborted(servers: Servers) -> None:
    with tf.device(TASKS[1]):
        handle = tf.get_session_handle(tf.constant([1.0, 2.0]))
    with tf.Session(servers["worker", 0].target) as session:
        kept = session.run(handle)
        servers["worker", 1]._close_lost(session._backend._handle)
        with pytest.raises(tf.errors.AbortedError, match="task:1 has no session"):
            kept.eval()


def test_a_server_does_not_start_with_a_time_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_SESSION_GC", "nan")
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPUGRAPH_SESSION_GC is 'nan'"):
        tf.train.Server.create_local_server()


def test_a_session_whose_master_has_gone_is_closed_on_workers(servers: Servers) -> None:
    with tf.device(TASKS[1]):
        x = tf.constant(1.0) + 1
    master = servers["worker", 0]
    with tf.Session(master.target) as session:
        assert session.run(x) == 2.0
        for peer in master._peers.values():
            peer.close()
        until(lambda: num_sessions(servers) == [1, 0, 0, 0])
        master._peers.clear()
        with pytest.raises(tf.errors.AbortedError, match="has no session"):
            session.run(x)


def _member(servers: Servers, rank: int) -> tuple[Any, Callable[[], Any]]:
    """Return a session that only one worker sees, and a function that reduces with the other
    member.
    """
    with tf.Graph().as_default(), tf.device(TASKS[rank]):
        total = all_reduce(tf.constant([1.0]), 2, 1, 1, "Add", "Id")
        config = tf.ConfigProto(device_filters=[TASKS[rank]])
        session = tf.Session(servers["worker", rank].target, config=config)
    return session, lambda: session.run(total).tolist()


@pytest.mark.parametrize("rank", [0, 1])  # the leader of the group is task 0
def test_a_partner_whose_client_goes_ends_the_wait(
    servers: Servers, rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = servers["worker", 1 - rank]._clients
    monkeypatch.setattr(clients, "_steps", clients._steps[:1])  # the session itself is kept
    with over_grpc(servers["worker", 1 - rank]):
        lost, reduce_lost = _member(servers, 1 - rank)
        session, reduce = _member(servers, rank)
        assert all_ranks(2, lambda number: (reduce, reduce_lost)[number]()) == [[2.0], [2.0]]
        vanish(lost)
        with pytest.raises(tf.errors.AbortedError, match="its client is gone") as caught:
            reduce()
        assert f"/job:worker/replica:0/task:{1 - rank} has left" in caught.value.message
        session.close()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_partner_that_closes_its_session_ends_the_wait(servers: Servers, rank: int) -> None:
    sessions, reductions = zip(*(_member(servers, number) for number in range(2)))
    assert all_ranks(2, lambda number: reductions[number]()) == [[2.0], [2.0]]

    def work(number: int) -> str:
        if number != rank:
            time.sleep(0.1)  # so that the other waits, most of the time
            sessions[number].close()
            return "closed"
        with pytest.raises(tf.errors.AbortedError, match=r"has left .* it was closed") as caught:
            reductions[number]()
        return str(caught.value.message)

    said = all_ranks(2, work)
    assert f"/job:worker/replica:0/task:{1 - rank} has left" in said[rank]
    sessions[rank].close()


def test_closing_a_session_ends_its_own_wait(servers: Servers) -> None:
    session, reduce = _member(servers, 0)

    def work(number: int) -> None:
        if number:
            time.sleep(0.1)
            session.close()
            return
        with pytest.raises(
            tf.errors.CancelledError, match=r"explicit call to `Session::Close\(\)`"
        ):
            reduce()

    all_ranks(2, work)


class _Context:
    """A gRPC context of a caller at an address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.on_end: list[Callable[[], Any]] = []

    def peer(self) -> str:
        return self.address

    def add_callback(self, function: Callable[[], Any]) -> bool:
        self.on_end.append(function)
        return True

    def end(self) -> None:
        for function in self.on_end:
            function()


def test_a_client_is_there_while_one_of_its_streams_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_streams, "_MOMENT_S", 0.01)
    calls: list[str] = []
    clients = SessionClients(
        lambda name: calls.append(f"{name} gone"), lambda name: calls.append(f"{name} lost"), 0.05
    )
    contexts = [_Context("a"), _Context("a"), _Context("b")]
    callers = [Caller(context) for context in contexts]
    for caller in callers:
        clients.begin_stream(caller)
    with answering(callers[0]):
        clients.use("one")
    with answering(callers[2]):
        clients.use("two")
    contexts[0].end()
    time.sleep(0.1)
    assert not calls
    contexts[1].end()
    until(lambda: len(calls) == 2)
    assert calls == ["one gone", "one lost"]
    clients.forget("two")
    contexts[2].end()
    with answering(Caller(_Context("c"))):  # a separate call, by no stream
        clients.use("three")
    until(lambda: len(calls) == 4)
    assert calls[2:] == ["three gone", "three lost"]
    clients.stop()

"""Clients without the key: nothing that they send is read, and they keep nobody else from a
server.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster.access import Credentials
from gpugraph.cluster.calls.answers import message_of
from gpugraph.cluster.calls.doorkeeper import MAX_LOOKS, Doorkeeper
from gpugraph.cluster.calls.proofs import SERVICE, open_call
from gpugraph.cluster.listener import MAX_CALLS
from gpugraph.cluster.transport import PROTOCOL, Peer
from gpugraph.formats.messages.service_messages import METHODS

from .local_cluster import over_grpc

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import strangers

grpc = pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
pytest.importorskip("google.protobuf", reason="the extra `cluster` is not installed")
listed = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="the system does not list a process's sockets"
)

KEY = b"a key that the stranger does not have"
SOON_S = 3.0
"""How long a test waits for an event that takes a second at most; machines are busy."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", KEY.decode())
    server = tf.train.Server.create_local_server()
    with over_grpc(server):
        yield server
    server.stop()


def address_of(server: Any) -> str:
    return str(server.target).removeprefix("grpc://")


def paths(server: Any) -> dict[str, Any]:
    """Return all methods and streams that gRPC serves for a server, by path: the targets of an
    attack.
    """
    state = server._listener._server._state
    assert not state.generic_handlers
    assert set(state.registered_method_handlers) == set(server._listener._entrance.makers)
    return dict(state.registered_method_handlers)


def test_what_a_server_offers(server: Any) -> None:
    names = {path.rpartition("/")[2] for path in paths(server)}
    assert names == {*METHODS, "Exchange", "Fetch", "Store"}


def shown_to(server: Any, method: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the metadata that a stranger may send, by a description of it."""
    protocol = ("gpugraph-protocol", PROTOCOL)
    incarnation = server._listener.incarnation
    used, _ = open_call(KEY, method, incarnation)
    server._listener._proofs.check(used, method)
    other = "Fetch" if method != "Fetch" else "Store"
    proofs = {
        "a guess": "1.2.3.4",
        "of another key": open_call(b"x" * 16, method, incarnation)[0],
        "of another method": open_call(KEY, other, incarnation)[0],
        "used before": used,
    }
    return {
        "nothing": (),
        "no proof": (protocol,),
        **{words: (protocol, ("gpugraph-proof", proof)) for words, proof in proofs.items()},
    }


def test_no_method_waits_for_a_message_without_proof(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By any path, with anything shown, the call ends though no message of it has come."""
    admitted: list[str] = []
    monkeypatch.setattr(server._listener._door, "admit", admitted.append)
    over = threading.Event()
    for path in paths(server):
        method = path.rpartition("/")[2]
        for words, metadata in shown_to(server, method).items():
            for name in (path, f"/{SERVICE}/{method}", "/none/none"):
                with grpc.insecure_channel(
                    address_of(server), (("grpc.use_local_subchannel_pool", 1),)
                ) as channel:
                    start = time.monotonic()
                    call = channel.stream_stream(name)(
                        (b"" for _ in iter(over.wait, True)), metadata=metadata, timeout=30
                    )
                    expected = (
                        grpc.StatusCode.UNAUTHENTICATED
                        if metadata
                        else grpc.StatusCode.FAILED_PRECONDITION
                    )
                    assert call.code() is expected, (name, words)
                    assert time.monotonic() - start < SOON_S, (name, words)
    over.set()
    assert not admitted


def test_no_method_takes_a_large_message_without_proof(server: Any) -> None:
    """Of a message of 64 MiB a stranger can send only as much as the network buffers."""
    taken = []
    for path in paths(server):
        for shown in ((), (("gpugraph-protocol", PROTOCOL), ("gpugraph-proof", "1.2.3.4"))):
            with grpc.insecure_channel(
                address_of(server), (("grpc.use_local_subchannel_pool", 1),)
            ) as channel:
                before = strangers.resident_bytes()
                call = channel.stream_stream(path)(iter([bytes(8 << 20)] * 8), metadata=shown)
                assert call.code().name in ("UNAUTHENTICATED", "FAILED_PRECONDITION")
                taken.append(strangers.resident_bytes() - before)
    assert np.median(taken) < 24 << 20, taken  # a message or two are the stranger's own


@listed
@pytest.mark.parametrize("kind", strangers.KINDS)
def test_each_kind_of_stranger_loses_his_connection(server: Any, kind: str) -> None:
    chosen = strangers.KINDS[kind]
    connections = [chosen.begin(address_of(server)) for _ in range(3)]
    until = time.monotonic() + SOON_S
    number = 0
    while connections and time.monotonic() < until:
        number += 1
        for connection in list(connections):
            with contextlib.suppress(OSError):
                chosen.go_on(connection, number)
            if not strangers.is_open(connection):
                connections.remove(connection)
        time.sleep(0.05)
    assert not connections
    check_a_session(server)


def check_a_session(server: Any) -> None:
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(1) + 1) == 2


@listed
def test_who_has_the_key_may_say_nothing_for_long(server: Any) -> None:
    peer = Peer(address_of(server), Credentials(KEY))
    status = peer.call("GetStatus", message_of("Nothing"))
    watch = peer._watch
    time.sleep(2.0)
    assert watch is not None and not watch.is_over
    assert peer.call("GetStatus", message_of("Nothing")) == status
    peer.close()


def test_idle_calls_take_no_place_of_others(server: Any) -> None:
    """More calls than a server answers at the same time, none of which shows a proof."""
    path = next(path for path in paths(server) if path.endswith("/Store"))
    connections = []
    for _ in range(MAX_CALLS // 100 + 1):
        block = [
            strangers.frame(
                strangers.HEADERS,
                strangers.END_HEADERS,
                2 * number + 1,
                strangers.headers(path, **strangers.SHOWN),
            )
            for number in range(100)
        ]
        connections.append(strangers.connected(address_of(server), *block))
    start = time.monotonic()
    check_a_session(server)
    assert time.monotonic() - start < 10
    for connection in connections:
        connection.close()


@listed
def test_connections_that_come_at_once(server: Any) -> None:
    """Many more than the server keeps; afterwards it has the files that it had before."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        x = tf.constant(1)
        session.run(x)
        connections = [strangers.connected(address_of(server)) for _ in range(600)]
        assert session.run(x) == 1
        check_a_session(server)
        until = time.monotonic() + SOON_S
        while connections and time.monotonic() < until:
            time.sleep(0.1)
            connections = [kept for kept in connections if strangers.is_open(kept)]
        assert not connections
        assert session.run(x) == 1
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 50


@listed
def test_a_busy_process_ends_no_connection_early() -> None:
    """The number of times that a connection was seen without proof counts, not the time."""
    with socket.create_server(("localhost", 0)) as listener:
        address = listener.getsockname()
        door = Doorkeeper(address[1])
        with socket.create_connection(address[:2]) as caller, listener.accept()[0]:
            caller.settimeout(0)
            time.sleep(1.5)
            for _ in range(MAX_LOOKS - 1):
                door.look()
                with pytest.raises(BlockingIOError):
                    caller.recv(1)
            door.look()
            assert caller.recv(1) == b""


@listed
def test_a_short_worst_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """benchmarks/strangers.py tells how long steps take, which a busy machine does not."""
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", strangers.KEY)
    usual, disturbed = strangers.worst_minute(2.0, list(strangers.KINDS))
    assert disturbed.steps and disturbed.sessions
    assert disturbed.most_bytes - usual.most_bytes < strangers.MOST_BYTES
    assert disturbed.most_files < 2 * MAX_CALLS

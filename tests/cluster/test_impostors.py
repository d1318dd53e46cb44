"""A server without the key at the address of one that has it, and an attacker between client and
server: nothing that they send is believed."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster.access import Credentials
from gpugraph.cluster.calls.answers import message_of, success
from gpugraph.cluster.calls.proofs import NO_INCARNATION, MessageProofs
from gpugraph.cluster.transport import Peer
from gpugraph.formats.messages.service_messages import METHODS, ONE_WAY

from .local_cluster import over_grpc

grpc = pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
pytest.importorskip("google.protobuf", reason="the extra `cluster` is not installed")

KEY = b"a key that the impostor does not have"
ACCESS = Credentials(KEY)
REFUSED = r"does not prove that its sender has the key.*of the server at|without a proof that it"
STATUSES = ("OUT_OF_RANGE", "NOT_FOUND", "ABORTED", "DATA_LOSS", "INVALID_ARGUMENT",
            "PERMISSION_DENIED", "ALREADY_EXISTS")  # fmt: skip


class Impostor:
    """A server that answers all calls by `answer`, which receives the call and all earlier ones.

    It uses the names of the service, as an observer of a call could.
    """

    def __init__(self, answer: Callable[[Any], bytes]) -> None:
        self._answer = answer
        self.came: list[bytes] = []
        self._server = grpc.server(ThreadPoolExecutor(32), options=(("grpc.so_reuseport", 0),))
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"localhost:{self._server.add_insecure_port('localhost:0')}"
        self._server.start()

    def service(self, details: Any) -> Any:
        is_stream = details.method.endswith("/Exchange")

        def serve(messages: Iterator[bytes], context: Any) -> Iterator[bytes]:
            for message in messages:
                self.came.append(message)
                yield self._answer(context)
                if not is_stream:
                    return

        return grpc.stream_stream_rpc_method_handler(serve)

    def stop(self) -> None:
        self._server.stop(None).wait()


@contextlib.contextmanager
def impostor(answer: Callable[[Any], bytes]) -> Iterator[Impostor]:
    served = Impostor(answer)
    try:
        yield served
    finally:
        served.stop()


def with_status(name: str) -> Callable[[Any], bytes]:
    def answer(context: Any) -> bytes:
        context.abort(grpc.StatusCode[name], "All is well, that was the last of the input")
        raise AssertionError

    return answer


PLAUSIBLE = success(message_of("Status", task="/job:w/replica:0/task:0", incarnation=7)
                    .SerializeToString())  # fmt: skip
ANSWERS: dict[str, Callable[[Any], bytes]] = {
    "an answer": lambda _: PLAUSIBLE,
    "nothing": lambda _: b"",
    "an answer by another key": lambda _: MessageProofs(b"x" * 32, True).attach(PLAUSIBLE),
    "a made-up proof": lambda _: PLAUSIBLE + bytes(16),
    **{name: with_status(name) for name in STATUSES},
}


def each_call(peer: Peer) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield all ways in which a client or a server asks another, with each method."""
    for name, (kind, _) in METHODS.items():
        message = message_of(kind)
        if name not in ONE_WAY:
            yield f"{name} in a stream", lambda name=name, m=message: peer.call(name, m)
            yield f"{name} begun", lambda name=name, m=message: peer.begin(name, m)()
        yield f"{name} by itself", lambda name=name, m=message: peer.call(name, m, limit_s=20)
        yield f"{name} pending", lambda name=name, m=message: peer.start(name, m, limit_s=20)()
    yield "Fetch", lambda: peer.fetch("0" * 32, 4)
    yield "Store", lambda: peer.store(np.zeros(4, np.uint8))
    yield "near", peer.is_near


@pytest.mark.parametrize("words", ANSWERS)
def test_no_answer_of_an_impostor_is_used(words: str) -> None:
    with impostor(ANSWERS[words]) as served:
        peer = Peer(served.address, ACCESS)
        for name, call in each_call(peer):
            for incarnation in (5, NO_INCARNATION):  # one that was greeted, and one that was not
                peer._incarnation = incarnation
                with pytest.raises(tf.errors.UnauthenticatedError, match=REFUSED):
                    call()
                assert peer._incarnation in (5, NO_INCARNATION), name
        peer.close()


def test_an_impostor_gets_a_greeting_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", KEY.decode())
    secret = "a secret that is fed"
    with impostor(ANSWERS["an answer"]) as served, tf.Graph().as_default():
        x = tf.placeholder(tf.string)
        with pytest.raises(tf.errors.UnauthenticatedError, match=REFUSED):
            with tf.Session(f"grpc://{served.address}") as session:
                session.run(x, {x: secret})
        assert served.came and not any(secret.encode() in message for message in served.came)


def test_a_task_whose_address_an_impostor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The master of a session does not believe it either."""
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", KEY.decode())
    with impostor(ANSWERS["an answer"]) as served, tf.Graph().as_default():
        with socket.socket() as listener:
            listener.bind(("localhost", 0))
            own = f"localhost:{listener.getsockname()[1]}"
        server = tf.train.Server({"a": [own], "b": [served.address]}, "a", 0)
        with over_grpc(server) as target, tf.Session(target) as session:
            with tf.device("/job:b"):
                x = tf.constant(1) + 1
            with pytest.raises(tf.errors.UnauthenticatedError, match=served.address):
                session.run(x)
        server.stop()


class Between:
    """A relay of bytes between a client and a server. change: applied to arriving bytes.

    sent: all bytes that the client has sent, by connection.
    """

    def __init__(self, address: str, change: Callable[[bytes], bytes] = bytes) -> None:
        self._address, self._change = address, change
        self.sent: list[bytearray] = []
        self._listener = socket.create_server(("localhost", 0))
        self.address = f"localhost:{self._listener.getsockname()[1]}"
        self._sockets = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        host, _, port = self._address.rpartition(":")
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection((host, int(port)))
                self._sockets += [client, server]
                sent = bytearray()
                self.sent.append(sent)

                def note(content: bytes, sent: bytearray = sent) -> bytes:
                    sent.extend(content)
                    return content

                for ends in ((client, server, note), (server, client, self._change)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(
        self, one: socket.socket, other: socket.socket, change: Callable[[bytes], bytes]
    ) -> None:
        with contextlib.suppress(OSError):
            while content := one.recv(1 << 16):
                other.sendall(change(content))
            other.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", KEY.decode())
    server = tf.train.Server.create_local_server()
    with over_grpc(server):
        yield server
    server.stop()


def test_a_tensor_that_is_changed_on_its_way(server: Any) -> None:
    """Each piece of a large tensor is proven, not its head alone."""
    changed = []

    def change(content: bytes) -> bytes:
        if len(content) < 30_000 or changed:
            return content
        changed.append(1)
        middle = len(content) // 2
        return content[:middle] + bytes((content[middle] ^ 1,)) + content[middle + 1 :]

    memory = np.arange(3 << 20, dtype=np.uint8)
    for is_changed in (True, False):
        between = Between(str(server.target).removeprefix("grpc://"), change)
        peer = Peer(between.address, ACCESS)
        ticket = server._listener.parcels.put(memory)
        if is_changed:
            with pytest.raises(tf.errors.UnauthenticatedError, match=REFUSED):
                peer.fetch(ticket, memory.nbytes)
            assert changed
        else:
            np.testing.assert_array_equal(peer.fetch(ticket, memory.nbytes), memory)
        peer.close()
        between.close()


def test_what_a_client_has_sent_is_not_done_again(server: Any) -> None:
    """A connection's bytes, sent again to the server, and to another with the key."""
    between = Between(str(server.target).removeprefix("grpc://"))
    other = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=0.0)
        more = tf.assign_add(v, 1.0)
        with tf.Session(f"grpc://{between.address}") as session:
            session.run(v.initializer)
            for _ in range(3):
                session.run(more)
        assert sum(map(len, between.sent)) > 1000
        handlers = [count_calls(one) for one in (server, other)]
        for target in (server, other):
            host, _, port = str(target.target).removeprefix("grpc://").rpartition(":")
            for sent in between.sent:
                with socket.create_connection((host, int(port)), timeout=3) as again:
                    again.sendall(sent)
                    with contextlib.suppress(OSError):
                        while again.recv(1 << 16):
                            pass  # until the server ends it, as it has proven nothing
        with tf.Session(server.target) as session:
            assert session.run(v) == 3
        # The greeting reveals nothing of a server, and changes nothing.
        assert handlers[0] and set(handlers[1]) <= {"GetStatus"}
    between.close()
    other.stop()


def count_calls(server: Any) -> list[str]:
    """Return the methods that a server answers from now on, as they come."""
    names: list[str] = []
    listener = server._listener
    answer = listener._proofs.check

    def check(shown: str, method: str) -> MessageProofs:
        proofs: MessageProofs = answer(shown, method)
        names.append(method)
        return proofs

    listener._proofs.check = check
    return names


def test_a_server_that_was_started_anew(server: Any) -> None:
    address = str(server.target).removeprefix("grpc://")
    peer = Peer(address, ACCESS)
    peer.call("CreateSession", message_of("CreateSession"))
    peer._incarnation += 1
    with pytest.raises(tf.errors.UnavailableError, match="restarted"):
        peer.call("Reset", message_of("Containers"), limit_s=20)
    assert peer.call("CreateSession", message_of("CreateSession")).handle  # it is greeted again
    peer.close()

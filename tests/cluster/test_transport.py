"""Messages: a malformed message ends its own call alone, and is never served."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import OpError
from gpugraph.cluster import access, call_streams, transport, wire_values
from gpugraph.cluster.calls.answers import content_of, message_of
from gpugraph.cluster.transport import Peer
from gpugraph.cluster.wire_values import Parcels, joined, read_values, write_values
from gpugraph.formats.messages.service_messages import ONE_WAY

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

FEW, MANY = 600, 100_000


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    server = tf.train.Server.create_local_server()
    peer = Peer(server.target.removeprefix("grpc://"), access.Credentials())
    yield peer
    peer.close()
    server.stop()


def test_values_come_back() -> None:
    parcels = Parcels()
    arrays = [
        np.arange(6).reshape(2, 3).astype(dtype)
        for dtype in ("b", "u2", "i8", "f2", "f4", "f8", "F", "D", "?")
    ]
    arrays += [np.float32(3.0), np.zeros((0, 3)), np.array([b"a", b""], object), b"text"]
    arrays += [np.ones((1 << 19) + 1, np.float32), np.arange(9.0).reshape(3, 3).T]
    message = message_of("Values")
    write_values(message.value, arrays, parcels.put)
    assert [bool(value.ticket) for value in message.value].count(True) == 1
    for got, want in zip(read_values(message.value, parcels.take), arrays, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.shape == np.shape(want)


@pytest.mark.parametrize(
    "fields",
    [
        {"dtype": 999},
        {"dtype": 1, "sizes": [2], "size": 4, "content": b"abcd"},
        {"dtype": 1, "sizes": [-1], "size": 4, "content": b"abcd"},
        {"dtype": 1, "sizes": [1], "size": 4, "content": b"abc"},
        {"dtype": 1, "sizes": [1 << 62, 1 << 62], "size": 4, "content": b"abcd"},
        {"dtype": 1, "sizes": [1 << 40], "size": 1 << 42, "ticket": "x"},
        {"dtype": 1, "sizes": [1], "size": -4},
        {"dtype": 1, "sizes": [1] * 300, "size": 4, "content": b"abcd"},
        {"dtype": 20, "sizes": [1], "size": 8, "content": b"abcdefgh"},
        {"dtype": 7, "sizes": [9], "size": 4, "content": b"abcd"},
        {"dtype": 7, "sizes": [2], "size": 4, "content": b"\xff\xff\xff\xff"},
        {"dtype": 1, "sizes": [1], "size": 4, "ticket": "there is none"},
    ],
)
def test_what_is_no_value(fields: dict[str, Any]) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.NotFoundError)):
        read_values([message_of("Value", **fields)], Parcels().take)


def test_parcels_of_other_sizes() -> None:
    for pieces in ([b"abc"], [b"abcd", b"e"], []):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not of 4 bytes"):
            joined(pieces, 4)
    parcels = Parcels()
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 3 bytes, not 4"):
        parcels.take(parcels.put(np.zeros(3, np.uint8)), 4)


def test_parcels_that_nobody_takes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    parcels = Parcels()
    old = parcels.put(np.zeros(3, np.uint8))
    monkeypatch.setattr(wire_values, "KEPT_S", -1.0)
    parcels.put(np.zeros(3, np.uint8))
    with pytest.raises(tf.errors.NotFoundError):
        parcels.take(old)


def test_a_client_of_another_version(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PROTOCOL", "0")
    with pytest.raises(
        tf.errors.FailedPreconditionError, match=r"speaks protocol '0'.*one version"
    ):
        peer.call("GetStatus", message_of("Nothing"))


def test_messages_are_bounded(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_MESSAGE_BYTES", 100)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="larger than 100"):
        peer.call("CreateSession", message_of("CreateSession", config=bytes(200)))


def samples(handle: str) -> list[tuple[str, Any]]:
    """Return a message of each method, of a session that is there."""
    graph = tf.Graph()
    with graph.as_default():
        tf.placeholder(tf.float32, name="x")
    content = graph.as_graph_def().SerializeToString()
    value = {"dtype": 1, "sizes": [1], "size": 4, "content": b"abcd"}
    stage = {"feed": [{"first": "x:0", "second": "x:0"}], "target": ["x"], "done": ["x"]}
    stage["receive"] = [{"key": "a", "task": "/job:b/replica:0/task:0", "value": "x:0"}]
    config = tf.ConfigProto(device_count={"CPU": 1}).SerializeToString()
    graph_fields = {"handle": handle, "graph": content, "new_version": 1, "config": config}
    part = {"handle": handle, "part": 1, "step": 5, "value": [value], "task": ["/job:b"]}
    names = {"feed": ["x:0"], "fetch": ["x:0"]}
    step = {"handle": handle, "slot": 1, "value": [value], "names": names}
    failure = {"code": 3, "message": "m"}
    fields: dict[str, dict[str, Any]] = {
        "CreateSession": {"config": config},
        "ExtendSession": graph_fields,
        "RegisterGraph": graph_fields,
        "RunStep": step,
        "ListDevices": {"handle": handle},
        "RegisterPart": {
            "handle": handle,
            "stage": [stage],
            "feed": ["x:0"],
            "fetch": ["x:0"],
            "task": ["/job:b/replica:0/task:0"],
        },
        "RunPart": part,
        "SendTensors": {"step": 6, "key": ["a"], "value": [value]},
        "GetPartState": {"step": 5},
        "AbortStep": {"step": 5, "failure": failure},
        "ClearContainers": {"container": ["c"]},
        "FreeParcels": {"ticket": ["a", "b"]},
    }
    return [(name, message_of(name if name in KINDS else KIND_OF[name], **given))
            for name, given in fields.items()]  # fmt: skip


KINDS = ("CreateSession", "ExtendSession", "RunStep", "ListDevices", "RegisterPart", "RunPart",
         "SendTensors", "AbortStep")  # fmt: skip
KIND_OF = {"RegisterGraph": "ExtendSession", "ClearContainers": "Containers",
           "GetPartState": "PartOfStep", "FreeParcels": "Tickets"}  # fmt: skip


def spoilt(content: bytes, draw: random.Random) -> bytes:
    """Return the bytes with some changed, left out or put in."""
    spoilt_bytes = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        index = draw.randrange(len(spoilt_bytes) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            del spoilt_bytes[index : index + draw.randint(1, 8)]
        elif kind == 1:
            spoilt_bytes[index:index] = draw.randbytes(draw.randint(1, 8))
        elif kind == 2 and index < len(spoilt_bytes):
            spoilt_bytes[index] ^= 1 << draw.randrange(8)
        else:
            spoilt_bytes = bytearray(draw.randbytes(draw.randint(0, 64)))
    return bytes(spoilt_bytes)


def in_a_call(peer: Peer, name: str, content: bytes) -> bytes:
    """Return the answer to the bytes of a separate call."""
    answer: bytes = peer._methods[name](content, metadata=peer._opening(name)[0], timeout=30)
    return answer


def in_a_stream(peer: Peer, name: str, content: bytes) -> bytes:
    """Return the answer to bytes in a frame of a stream, and a stream answers no ONE_WAY method."""
    if name in ONE_WAY:
        return in_a_call(peer, name, content)
    stream = peer._streams.take()
    stream.send(name, content)
    answer = bytes(stream.receive())
    peer._streams.give(stream)
    return answer


def check_malformed(peer: Peer, count: int, seed: int) -> None:
    """Send corrupt messages, and check that none is served, all are answered, and the server goes
    on.

    Half of them are corrupted in transit: the bytes of a call do not fit the sender's checksum.
    None of these may be executed. The others come from a faulty sender, with a checksum that fits:
    each is executed or refused, for a reason that is not the server's own.
    """
    draw = random.Random(seed)
    handle = peer.call("CreateSession", message_of("CreateSession")).handle
    known = samples(handle)
    num_refused = 0
    for number in range(count):
        name, message = draw.choice(known)
        content = message.SerializeToString()
        is_spoilt_on_the_way = number % 2 == 0
        whole = call_streams.sealed(name, content)
        sent = spoilt(whole, draw) if is_spoilt_on_the_way else whole
        if not is_spoilt_on_the_way:
            sent = call_streams.sealed(name, spoilt(content, draw))
        answer = draw.choice((in_a_call, in_a_stream))(peer, name, sent)
        assert answer[:1] in (b"\0", b"\1")
        if is_spoilt_on_the_way and sent != whole:
            assert answer[:1] == b"\1", (name, content, sent)
            num_refused += 1
        if answer[:1] == b"\1":
            failure = message_of("Failure")
            failure.ParseFromString(answer[1:])
            assert failure.code != tf.errors.INTERNAL, failure.message
    assert num_refused > count // 3
    for size in (b"", b"x", struct.pack("<q", -1), struct.pack("<q", 1 << 60), os.urandom(8)):
        answer = peer._store(iter([size, b"abc"]), metadata=peer._opening("Store")[0])
        with pytest.raises(OpError, match=r"Not a size|not of \d+ bytes|memory"):
            content_of(answer)
    with pytest.raises(OpError):
        peer.fetch("no ticket", 3)
    assert peer.call("GetStatus", message_of("Nothing")).task


def test_a_message_that_names_no_task(peer: Peer) -> None:
    for task in ("", "x", "/job:none/replica:0/task:0", "/job:local/replica:0/task:9"):
        with pytest.raises(tf.errors.OpError, match=r"[Nn]o |not a task") as info:
            peer.call("RunPart", message_of("RunPart", handle="x", part=1, step=7, task=[task]))
        assert info.value.error_code != tf.errors.INTERNAL


def test_a_part_whose_values_nothing_gives(peer: Peer) -> None:
    handle = peer.call("CreateSession", message_of("CreateSession")).handle
    known = dict(samples(handle))
    for name in ("ExtendSession", "RegisterGraph"):
        peer.call(name, known[name])
    pair = {"first": "x:0", "second": "other"}
    for stage, fetch in (({"feed": [pair]}, []), ({"send": [pair]}, []), ({}, ["other"])):
        message = message_of(
            "RegisterPart", handle=handle, stage=[stage], feed=["x:0"], fetch=fetch
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Nothing supplies|has no part"):
            peer.call("RegisterPart", message)


def test_malformed_messages(peer: Peer) -> None:
    check_malformed(peer, FEW, 1)


@pytest.mark.exhaustive
def test_a_hundred_thousand_malformed_messages(peer: Peer) -> None:
    check_malformed(peer, MANY, 2)

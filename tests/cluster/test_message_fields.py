"""Messages whose fields hold anything: each call is answered, and never by an error of the server's
own. Bytes that are no message at all are those of `test_transport.py`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.cluster.access import Credentials
from gpugraph.cluster.calls.answers import message_of
from gpugraph.cluster.transport import Peer
from gpugraph.formats.messages.service_messages import METHODS

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
pytest.importorskip("google.protobuf", reason="the extra `cluster` is not installed")

TASK = "/job:local/replica:0/task:0"
DEVICE = f"{TASK}/device:CPU:0"
NUMBERS = (-(1 << 40), -1, 0, 0, 1, 1, 2, 7, 1 << 40)
COUNT = 60


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    server = tf.train.Server.create_local_server()
    peer = Peer(server.target.removeprefix("grpc://"), Credentials())
    yield peer
    peer.close()
    server.stop()


def graph_def() -> bytes:
    with tf.Graph().as_default() as graph:
        tf.add(tf.placeholder(tf.float32, name="x"), 1.0, name="y")
    content: bytes = graph.as_graph_def().SerializeToString()
    return content


def filled(message: Any, draw: random.Random, handle: str, depth: int = 0) -> Any:
    """Return the message with some fields set, either to values that others send or to random
    ones.
    """
    texts = ("", handle, handle, TASK, DEVICE, "x", "x:0", "y:0", "1,2", "\u00e9\0", "/job:none")
    contents = (b"", b"\0\1\2", graph_def(), tf.ConfigProto().SerializeToString())
    choices: dict[Any, Any] = {
        "string": texts, "bytes": contents, "bool": (False, True),
        "double": (-1.0, 0.0, 0.1, float("nan")),
    }  # fmt: skip
    for field in message.DESCRIPTOR.fields:
        if draw.random() < 0.3 or depth > 3:
            continue
        kind = {1: "double", 8: "bool", 9: "string", 12: "bytes"}.get(field.type, "number")
        is_repeated = hasattr(getattr(message, field.name), "extend")
        for _ in range(draw.randint(1, 3) if is_repeated else 1):
            if field.message_type is not None:
                part = getattr(message, field.name)
                filled(part.add() if is_repeated else part, draw, handle, depth + 1)
                continue
            value = draw.choice(choices.get(kind, NUMBERS))
            if field.type == 5:
                value = max(min(value, 1 << 30), -(1 << 30))
            if is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
    return message


@pytest.mark.parametrize("method", METHODS)
def test_fields_that_hold_anything(peer: Peer, method: str) -> None:
    draw = random.Random(method)
    handle = peer.call("CreateSession", message_of("CreateSession")).handle
    for number in range(COUNT):
        message = message_of(METHODS[method][0])
        if number:
            filled(message, draw, handle)
        try:
            peer.call(method, message, limit_s=2.0)
        except tf.errors.OpError as error:
            assert error.error_code != tf.errors.INTERNAL, (str(message)[:1000], error.message)
    assert peer.call("GetStatus", message_of("Nothing")).task == TASK


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"device": []}, "no device"),
        ({"device": [DEVICE, DEVICE]}, "a device twice"),
        ({"task": "/job:none/replica:0/task:0"}, "not a task"),
        ({"task": ""}, "not a task"),
    ],
)
def test_members_of_collectives_that_are_none(
    peer: Peer, fields: dict[str, Any], words: str
) -> None:
    member = {"task": TASK, "session": "s", "device": [DEVICE], **fields}
    message = message_of("JoinCollective", key="1,1", size=2, wait="w", member=member)
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        peer.call("JoinCollective", message)

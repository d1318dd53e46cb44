"""A stranger's worst minute: how clients with the key fare while one without it attacks.

    python benchmarks/strangers.py [--seconds 60] [--kinds KIND ...] [--source 127.0.0.1]

A server of one task has a separate process, and so has the stranger. A client with the key runs
empty steps, and makes a new session now and then; first undisturbed, then while the stranger goes
through all of `KINDS` at the same time, each in a separate thread. Printed are the client's times
and the server's memory, files and threads of both phases. The exit status is 1 where the client's
median step takes more than twice as long as undisturbed, or the server takes more than
`MOST_BYTES` more.

The stranger implements HTTP/2 itself, as gRPC's client would keep it from most of this.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gpugraph as tf

KEY = "a key that the stranger does not have"
MOST_BYTES = 320 << 20
MOST_TIMES = 2.0
SERVICE = "gpugraph.cluster.Cluster"
_SERVE = """
import sys
import gpugraph as tf
server = tf.train.Server({"w": [sys.argv[1]]}, "w", 0)
print("ready", flush=True)
server.join()
"""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_HEADERS, ACK = 4, 1
_CONNECTIONS = 40
"""Of each kind, at the same time."""

_WAIT_S = 0.05
SOURCE = os.environ.get("STRANGER_SOURCE", "127.0.0.2")


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    """Return a frame of HTTP/2."""
    return struct.pack(">I", len(content))[1:] + struct.pack(">BBI", kind, flags, stream) + content


def headers(path: str, **shown: str) -> bytes:
    """Return the metadata of a call."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "te": "trailers",
        "content-type": "application/grpc",
        **{name.replace("_", "-"): value for name, value in shown.items()},
    }
    block = b""
    for name, value in fields.items():
        block += b"\0" + b"".join(
            bytes((len(part),)) + part for part in (name.encode(), value.encode())
        )
    return block


def connected(address: str, *frames: bytes) -> socket.socket:
    """Return a connection to the server, after sending the greeting of HTTP/2 and `frames`.

    It comes from `SOURCE`, by default another address than the client has.
    """
    port = int(address.rpartition(":")[2])
    source = (SOURCE, 0) if sys.platform == "linux" else None
    connection = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=source)
    if frames:
        connection.sendall(_PREFACE + frame(SETTINGS, 0, 0) + b"".join(frames))
    return connection


def is_open(connection: socket.socket) -> bool:
    """Return whether the server has not ended the connection, else close it here as well.

    Data from the server is read, and its settings are confirmed.
    """
    connection.settimeout(0)
    try:
        if connection.recv(1 << 16):
            connection.settimeout(1)
            connection.sendall(frame(SETTINGS, ACK, 0))
            return True
    except BlockingIOError:
        return True
    except OSError:
        pass
    connection.close()
    return False


def call(stream: int, method: str, flags: int = END_HEADERS, **shown: str) -> bytes:
    """Return the frame that begins a call."""
    return frame(HEADERS, flags, stream, headers(f"/{SERVICE}/{method}", **shown))


SHOWN = {"gpugraph_protocol": "5", "gpugraph_version": "1"}
WRONG = {**SHOWN, "gpugraph_proof": f"{int(time.time())}.{'0' * 24}.1.{'0' * 64}"}
ALL_METHODS = ("GetStatus", "CreateSession", "RunStep", "RunPart", "JoinCollective", "Exchange",
               "Fetch", "Store")  # fmt: skip


# -- kinds: each gives connections, and may go on to send by one that is open


class Kind(NamedTuple):
    """Something that a stranger does."""

    begin: Callable[[str], socket.socket]
    go_on: Callable[[socket.socket, int], Any] = lambda connection, number: None


def silent(address: str) -> socket.socket:
    """Return a connection that sends nothing."""
    return connected(address)


def half_greeting(address: str) -> socket.socket:
    """Return a connection that begins to greet, and sends a byte at times."""
    connection = connected(address)
    connection.sendall(_PREFACE[:5])
    return connection


def idle(address: str) -> socket.socket:
    """Return a connection that makes no call."""
    return connected(address, frame(PING, 0, 0, bytes(8)))


def half_headers(address: str) -> socket.socket:
    """Return a call whose metadata never end."""
    return connected(address, call(1, "Exchange", 0, **SHOWN))


def idle_calls(address: str) -> socket.socket:
    """Many calls without proof and without a message."""
    return connected(address, *(call(2 * n + 1, ALL_METHODS[n % 8], **SHOWN) for n in range(100)))


def wrong_calls(address: str) -> socket.socket:
    """Many calls with a wrong proof."""
    return connected(address, *(call(2 * n + 1, ALL_METHODS[n % 8], **WRONG) for n in range(100)))


def huge_body(address: str) -> socket.socket:
    """Return a connection with calls whose first message declares a size of 256 MiB."""
    head = b"\0" + struct.pack(">I", (256 << 20) - 1)
    return connected(
        address,
        *(
            call(2 * n + 1, method, **WRONG) + frame(DATA, 0, 2 * n + 1, head + bytes(16000))
            for n, method in enumerate(("RunStep", "Store", "Exchange", "ExtendSession"))
        ),
    )


def more_body(connection: socket.socket, number: int) -> None:
    """Further bytes of such a message."""
    connection.sendall(frame(DATA, 0, 2 * (number % 4) + 1, bytes(16000)))


def noise(address: str) -> socket.socket:
    """Return a connection that sends anything."""
    connection = connected(address)
    connection.sendall(_PREFACE[: random.randrange(24)] + os.urandom(2000))
    return connection


KINDS = {
    "silent connections": Kind(silent),
    "half a greeting, byte by byte": Kind(
        half_greeting, lambda connection, number: connection.sendall(b"x")
    ),
    "idle connections": Kind(idle),
    "metadata without end": Kind(
        half_headers,
        lambda connection, number: connection.sendall(frame(CONTINUATION, 0, 1, b"\0")),
    ),
    "idle calls": Kind(
        idle_calls,
        lambda connection, number: connection.sendall(call(2 * number + 201, "Store", **SHOWN)),
    ),
    "calls with a wrong proof": Kind(
        wrong_calls,
        lambda connection, number: connection.sendall(call(2 * number + 201, "RunStep", **WRONG)),
    ),
    "messages of 256 MiB": Kind(huge_body, more_body),
    "calls that are taken back": Kind(
        idle_calls,
        lambda connection, number: connection.sendall(
            call(2 * number + 201, "Fetch", **SHOWN)
            + frame(RST, 0, 2 * number + 201, struct.pack(">I", 8))
        ),
    ),
    "pings": Kind(
        idle, lambda connection, number: connection.sendall(frame(PING, 0, 0, bytes(8)) * 20)
    ),
    "noise": Kind(noise),
}


def disturb(address: str, kind: Kind, until: float, count: int = _CONNECTIONS) -> int:
    """Keep `count` connections of a kind open until a time; return how many the server has
    ended.
    """
    connections: list[socket.socket] = []
    num_ended = number = 0
    while time.monotonic() < until:
        number += 1
        for connection in list(connections):
            ended = not is_open(connection)
            with contextlib.suppress(OSError):
                kind.go_on(connection, number)
            if ended:
                connections.remove(connection)
                num_ended += 1
        while len(connections) < count:
            try:
                connections.append(kind.begin(address))
            except OSError:
                break
        time.sleep(_WAIT_S)
    for connection in connections:
        connection.close()
    return num_ended


def be_strange(address: str, seconds: float, kinds: Sequence[str]) -> None:
    """Do all of these at the same time, in this process."""
    until = time.monotonic() + seconds
    threads = [
        threading.Thread(target=disturb, args=(address, KINDS[name], until)) for name in kinds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# -- the client and the server


@contextlib.contextmanager
def server_process() -> Iterator[tuple[str, int]]:
    """Start a server with the key in a separate process, and yield its address and process id."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        address = f"localhost:{listener.getsockname()[1]}"
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, address],
        stdout=subprocess.PIPE,
        env={**os.environ, "GPUGRAPH_CLUSTER_KEY": KEY},
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    try:
        yield address, process.pid
    finally:
        process.kill()
        process.communicate()


def resident_bytes(pid: int | str = "self") -> int:
    """Return the memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process's threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Phase(NamedTuple):
    """How clients and server fared. Seconds, bytes."""

    steps: list[float]
    sessions: list[float]
    most_bytes: int
    most_files: int
    most_threads: int


def measure(address: str, pid: int, seconds: float) -> Phase:
    """Run steps of a session for so long, and beside it makes a new session at times."""
    with tf.Graph().as_default() as graph:
        nothing = tf.no_op()
    steps: list[float] = []
    sessions: list[float] = []
    sizes: list[tuple[int, int, int]] = []
    is_over = threading.Event()

    def make_sessions() -> None:
        while not is_over.wait(0.5):
            start = time.perf_counter()
            with tf.Session(f"grpc://{address}", graph=graph) as other:
                other.run(nothing)
            sessions.append(time.perf_counter() - start)

    with tf.Session(f"grpc://{address}", graph=graph) as session:
        step = session.make_callable(nothing)
        step()
        beside = threading.Thread(target=make_sessions)
        beside.start()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until or not sessions:
                start = time.perf_counter()
                step()
                steps.append(time.perf_counter() - start)
                if len(steps) % 100 == 1:
                    files, threads = (os.listdir(f"/proc/{pid}/{name}") for name in ("fd", "task"))
                    sizes.append((resident_bytes(pid), len(files), len(threads)))
                time.sleep(0.001)
        finally:
            is_over.set()
            beside.join()
    most = [max(column) for column in zip(*sizes, strict=True)]
    return Phase(steps, sessions, *most)


def summary(phase: Phase) -> str:
    """Return a line for a person."""

    def times(values: list[float]) -> str:
        ordered = sorted(values)
        late = ordered[int(len(ordered) * 0.99)]
        middle = statistics.median(values)
        return (
            f"median {middle * 1e3:.2f} ms, 99 % {late * 1e3:.2f}, longest {ordered[-1] * 1e3:.0f}"
        )

    return (
        f"{len(phase.steps)} steps: {times(phase.steps)}; "
        f"{len(phase.sessions)} new sessions: {times(phase.sessions)}; "
        f"server: {phase.most_bytes >> 20} MiB, {phase.most_files} files, "
        f"{phase.most_threads} threads"
    )


def worst_minute(seconds: float, kinds: Sequence[str]) -> tuple[Phase, Phase]:
    """Return the phases without and with the stranger; GPUGRAPH_CLUSTER_KEY is KEY."""
    with server_process() as (address, pid):
        measure(address, pid, 1.0)
        usual = measure(address, pid, max(seconds / 4, 1.0))
        arguments = [sys.executable, __file__, "--strange", address, "--seconds", str(seconds + 2)]
        stranger = subprocess.Popen([*arguments, "--kinds", json.dumps(list(kinds))])
        try:
            time.sleep(1.5)
            before = [processor_seconds(process) for process in (pid, stranger.pid)]
            disturbed = measure(address, pid, seconds)
            after = [processor_seconds(process) for process in (pid, stranger.pid)]
        finally:
            stranger.kill()
            stranger.wait()
    server_s, stranger_s = (new - old for new, old in zip(after, before))
    print(f"processor time: server {server_s:.1f} s, stranger {stranger_s:.1f} s")
    return usual, disturbed


def main() -> int:
    """Print both phases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kinds", type=json.loads, default=list(KINDS), help="a JSON list")
    parser.add_argument("--source", default=SOURCE, help="the stranger's address (Linux)")
    parser.add_argument("--strange", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.strange:
        be_strange(options.strange, options.seconds, options.kinds)
        return 0
    os.environ.update(GPUGRAPH_CLUSTER_KEY=KEY, STRANGER_SOURCE=options.source)
    usual, disturbed = worst_minute(options.seconds, options.kinds)
    print("undisturbed: ", summary(usual))
    print("disturbed:   ", summary(disturbed))
    ratio = statistics.median(disturbed.steps) / statistics.median(usual.steps)
    grown = disturbed.most_bytes - usual.most_bytes
    print(f"steps take {ratio:.2f} times as long; the server takes {grown >> 20} MiB more")
    return int(ratio > MOST_TIMES or grown > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())

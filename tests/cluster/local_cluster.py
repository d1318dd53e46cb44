"""Clusters of servers in this process, for tests."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gpugraph as tf
from gpugraph.cluster import grpc_server

__all__ = ["PROCESSES", "free_ports", "local_cluster", "over_grpc", "server_processes"]


def free_ports(count: int) -> list[int]:
    """Return numbers of ports of this machine on which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    for listener in sockets:
        listener.bind(("localhost", 0))
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


@contextlib.contextmanager
def local_cluster(
    config: tf.ConfigProto | None = None, **counts: int
) -> Iterator[dict[tuple[str, int], Any]]:
    """Start servers for the given number of tasks of each job, and return them by job and task."""
    ports = iter(free_ports(sum(counts.values())))
    spec = {
        job: [f"localhost:{next(ports)}" for _ in range(count)] for job, count in counts.items()
    }
    servers = {
        (job, task): tf.train.Server(spec, job, task, config=config)
        for job, count in counts.items()
        for task in range(count)
    }
    try:
        yield servers
    finally:
        for server in servers.values():
            server.stop()


SERVE = """
import json, sys
import gpugraph as tf
config = tf.ConfigProto(device_count={"CPU": int(sys.argv[4])})
server = tf.train.Server(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), config=config)
print("ready", flush=True)
server.join()
"""


PROCESSES: dict[str, subprocess.Popen[bytes]] = {}
"""Those of `server_processes`, by address."""


@contextlib.contextmanager
def server_processes(num_cpus: int, **counts: int) -> Iterator[dict[str, list[str]]]:
    """Start a server process with `num_cpus` devices for each task, and yield the cluster."""
    ports = iter(free_ports(sum(counts.values())))
    spec = {
        job: [f"localhost:{next(ports)}" for _ in range(count)] for job, count in counts.items()
    }
    tasks = [(job, str(task)) for job, count in counts.items() for task in range(count)]
    text = json.dumps(spec)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SERVE, text, *task, str(num_cpus)], stdout=subprocess.PIPE
        )
        for task in tasks
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        PROCESSES.update(zip([address for job in spec.values() for address in job], processes))
        yield spec
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def over_grpc(server: Any) -> Iterator[str]:
    """Yield the server's target, which sessions of this process reach by gRPC as those of others
    do.
    """
    del grpc_server.SERVERS[server.target]
    try:
        yield server.target
    finally:
        grpc_server.SERVERS[server.target] = server

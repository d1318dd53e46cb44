"""Clusters of servers in this process, for tests."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import gpugraph as tf
from gpugraph.cluster import grpc_server

__all__ = ["free_ports", "local_cluster", "over_grpc"]


def free_ports(count: int) -> list[int]:
    """Numbers of ports of this machine on which nobody listens."""
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
    """Servers of so many tasks of each job, by job and task."""
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


@contextlib.contextmanager
def over_grpc(server: Any) -> Iterator[str]:
    """The server's target, which sessions of this process reach by gRPC as those of others do."""
    del grpc_server.SERVERS[server.target]
    try:
        yield server.target
    finally:
        grpc_server.SERVERS[server.target] = server

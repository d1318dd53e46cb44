"""`tf.test.create_local_cluster`: a cluster whose servers all run in this process."""

from __future__ import annotations

import contextlib
import socket

from gpugraph.cluster import Server
from gpugraph.config import ConfigProto


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: ConfigProto | None = None,
    ps_config: ConfigProto | None = None,
) -> tuple[list[Server], list[Server]]:
    """Start servers of the jobs `worker` and `ps` in this process. Return (workers, parameter
    servers).

    Raises the errors of `tf.train.Server`.

    Args:
      worker_config, ps_config: the settings of the servers' devices.
    """
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(num_workers + num_ps)]
        for listener in listeners:
            listener.bind(("localhost", 0))
        addresses = [f"localhost:{listener.getsockname()[1]}" for listener in listeners]
    cluster = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    return (
        [Server(cluster, "worker", task, protocol, worker_config) for task in range(num_workers)],
        [Server(cluster, "ps", task, protocol, ps_config) for task in range(num_ps)],
    )

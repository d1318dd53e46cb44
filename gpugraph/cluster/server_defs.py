"""ServerDefs: messages with the cluster and the task of a server, created from a program's
arguments.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import InternalError, invalid_argument
from gpugraph.cluster.cluster_spec import ClusterSpec
from gpugraph.config import ConfigProto
from gpugraph.formats import messages_pb2


def server_def_of(
    server_or_cluster_def: Any,
    job_name: str | None,
    task_index: int | None,
    protocol: str | None,
    config: ConfigProto | None,
) -> Any:
    """Return the ServerDef of a server. For the parameters, see `Server`.

    Raises TypeError if the first argument is neither a ServerDef nor a cluster, ValueError if the
    job is unknown, or if the job or task is missing although the cluster has several tasks, and
    InvalidArgumentError if the protocol is not "grpc".
    """
    result = messages_pb2.ServerDef()
    if isinstance(server_or_cluster_def, messages_pb2.ServerDef):
        result.CopyFrom(server_or_cluster_def)
        if job_name is not None:
            result.job_name = job_name
        if task_index is not None:
            result.task_index = task_index
    else:
        cluster = _cluster_of(server_or_cluster_def)
        result.cluster.CopyFrom(cluster.as_cluster_def())
        result.job_name = _one_of(cluster.jobs, "job_name") if job_name is None else job_name
        result.task_index = (
            _one_of(cluster.task_indices(result.job_name), "task_index")
            if task_index is None
            else task_index
        )
    if protocol is not None or not result.protocol:
        result.protocol = protocol or "grpc"
    if result.protocol != "grpc":
        raise invalid_argument(
            f"No server factory registered for the given ServerDef: its protocol is "
            f"{result.protocol!r}; there is 'grpc'"
        )
    if config is not None:
        result.default_session_config.MergeFromString(config.SerializeToString())
    return result


def _cluster_of(value: Any) -> ClusterSpec:
    try:
        return ClusterSpec(value)
    except TypeError as error:
        if isinstance(value, (dict, ClusterSpec)):
            raise
        raise TypeError(
            "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
            f"`tf.train.ClusterSpec`: {error}"
        ) from None


def _one_of(choices: list[Any], parameter: str) -> Any:
    if len(choices) != 1:
        raise ValueError(f"Must specify an explicit `{parameter}`.")
    return choices[0]


def own_address(cluster: ClusterSpec, server_def: Any) -> str:
    """Return the address of the server's task, `host:port`.

    Raises InternalError if the cluster has no such task, and InvalidArgumentError if the address is
    malformed.
    """
    job, index = server_def.job_name, server_def.task_index
    if job not in cluster.jobs:
        raise InternalError.of_no_node(
            f'Job "{job}" was not defined in cluster, which has: {", ".join(cluster.jobs)}'
        )
    if index not in cluster.task_indices(job):
        indices = ", ".join(map(str, cluster.task_indices(job)))
        raise InternalError.of_no_node(
            f'Task {index} was not defined in job "{job}", which has: {indices}'
        )
    address = cluster.task_address(job, index)
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise invalid_argument(
            f'Could not parse "{address}", the address of /job:{job}/task:{index}: it is '
            '"host:port", the port at most 65535'
        )
    return address


def task_name(job: str, index: int) -> str:
    """Return the name of a task. The names of the task's devices begin with this name."""
    return f"/job:{job}/replica:0/task:{index}"


def config_of(content: bytes) -> ConfigProto:
    """Parse a serialized ConfigProto. Raises InvalidArgumentError if the message is malformed."""
    try:
        return ConfigProto.FromString(content)
    except (ValueError, TypeError, messages_pb2.DecodeError) as error:
        raise invalid_argument(f"No ConfigProto: {error}") from error

"""Cluster resolvers: they find the cluster of a program and the task of this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gpugraph.base.errors import UnimplementedError
from gpugraph.cluster.cluster_spec import ClusterSpec, task_number
from gpugraph.config.environment import value_of
from gpugraph.devices.device_listing import list_local_devices


def format_master_url(master: str, rpc_layer: str | None = None) -> str:
    """Return an address with its protocol, such as "grpc://localhost:2222"."""
    return f"{rpc_layer}://{master}" if rpc_layer else master


class ClusterResolver:
    """Base class of cluster resolvers. Subclasses define `cluster_spec` and `master`."""

    task_type: Any = None
    task_id: Any = None
    rpc_layer: Any = None

    def cluster_spec(self) -> Any:
        """Return the ClusterSpec of the cluster."""
        raise NotImplementedError

    def master(
        self, task_type: Any = None, task_id: Any = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task, to which a session connects."""
        raise NotImplementedError

    @property
    def environment(self) -> str:
        """The name of the environment in which the program runs, or "" if the environment is
        unknown.
        """
        return ""

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the number of accelerators of this machine, as a dict by type."""
        gpus = [
            device for device in list_local_devices(config_proto) if device.device_type == "GPU"
        ]
        return {"GPU": len(gpus)} if gpus else {}


class SimpleClusterResolver(ClusterResolver):
    """A resolver that receives the cluster and the task as arguments.

    Raises TypeError if `cluster_spec` is not a ClusterSpec.

    Args:
      cluster_spec: a ClusterSpec.
      master: the address for sessions.
      num_accelerators: the number of accelerators, as a dict by type. By default, the accelerators
        of this machine are counted.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec, self._master = cluster_spec, master
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._environment, self._num_accelerators = environment, num_accelerators

    def cluster_spec(self) -> ClusterSpec:
        """Return the ClusterSpec that the constructor received."""
        return self._cluster_spec

    def master(
        self, task_type: Any = None, task_id: Any = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task. If no task is passed, return the address that the
        constructor received.
        """
        if task_type is not None and task_id is not None:
            address = self._cluster_spec.task_address(task_type, task_id)
        else:
            address = self._master
        return format_master_url(address, rpc_layer or self.rpc_layer)

    @property
    def environment(self) -> str:
        """The name of the environment that the constructor received."""
        return self._environment

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the numbers of accelerators that the constructor received. By default, return the
        numbers of this machine.
        """
        if self._num_accelerators is None:
            return super().num_accelerators(task_type, task_id, config_proto)
        return self._num_accelerators


class TFConfigClusterResolver(ClusterResolver):
    """A resolver that reads the cluster and the task from the environment variable TF_CONFIG.

    An argument that is not None replaces the corresponding entry of TF_CONFIG. Raises ValueError if
    TF_CONFIG is not a JSON object, or if the task's index is not an integer.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        task = _tf_config().get("task", {})
        if not isinstance(task, dict):
            raise ValueError(f"TF_CONFIG's task must be a JSON object, but it is {task!r}")
        self.task_type = task.get("type") if task_type is None else str(task_type)
        number = task.get("index") if task_id is None else task_id
        self.task_id = None if number is None else task_number(number)
        self.rpc_layer = rpc_layer or _tf_config().get("rpc_layer")
        self._environment = environment or _tf_config().get("environment", "")

    @property
    def environment(self) -> str:
        """The name of the environment, an argument or an entry of TF_CONFIG."""
        return str(self._environment)

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster in TF_CONFIG. If TF_CONFIG has no cluster, return an empty
        ClusterSpec.
        """
        return ClusterSpec(_tf_config().get("cluster", {}))

    def master(
        self, task_type: Any = None, task_id: Any = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task, by default of this process's task. If TF_CONFIG has no
        cluster, return "".
        """
        config = _tf_config()
        if config.get("session_master") is not None:
            return str(config["session_master"])
        spec = self.cluster_spec()
        if sum(spec.num_tasks(job) for job in spec.jobs) <= 1:
            return ""
        kind = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        return format_master_url(spec.task_address(kind, number), rpc_layer or self.rpc_layer)


def _tf_config() -> dict[str, Any]:
    text = value_of("TF_CONFIG") or "{}"
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG is no JSON ({error}): {text!r}") from None
    if not isinstance(config, dict):
        raise ValueError(f"TF_CONFIG must be a JSON object, but it is {text!r}")
    return config


class UnionResolver(ClusterResolver):
    """The union of several clusters. If several clusters have a job of the same name, its tasks are
    combined.

    The task and the protocol come from the first resolver, unless they are passed as arguments.
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers: Sequence[ClusterResolver] = args
        first = args[0]
        self.rpc_layer = kwargs.pop("rpc_layer", None)
        self.task_type = kwargs.pop("task_type", first.task_type)
        self.task_id = kwargs.pop("task_id", first.task_id)
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")

    def cluster_spec(self) -> ClusterSpec:
        """Return the union of the clusters. Lists of tasks are joined, and numbered tasks keep
        their numbers.

        Raises KeyError if two clusters have a task of the same number in the same job, and one of
        them numbers the tasks of that job.
        """
        specs = [ClusterSpec(resolver.cluster_spec()).as_dict() for resolver in self._resolvers]
        merged: dict[str, Any] = {}
        for job in dict.fromkeys(name for spec in specs for name in spec):
            parts = [spec[job] for spec in specs if job in spec]
            merged[job] = _joined_tasks(job, parts)
        return ClusterSpec(merged)

    def master(
        self, task_type: Any = None, task_id: Any = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task. If no task is passed, return the first resolver's
        address.
        """
        if task_type is not None and task_id is not None:
            address = self.cluster_spec().task_address(task_type, task_id)
            return format_master_url(address, rpc_layer or self.rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer or self.rpc_layer)


def _joined_tasks(job: str, parts: Sequence[Any]) -> Any:
    """Return the combined tasks of a job.

    Args:
      parts: for each cluster, a list or a dict of addresses.
    """
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part]
    tasks: dict[int, str] = {}
    for part in parts:
        numbered = dict(enumerate(part)) if isinstance(part, list) else part
        twice = sorted(set(tasks) & set(numbered))
        if twice:
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: tasks {twice} "
                           f"of job {job!r}")  # fmt: skip
        tasks.update(numbered)
    return tasks


def _refused(name: str) -> type[ClusterResolver]:
    """Return a resolver class whose constructor raises an error, because this package calls no
    cloud services.
    """

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise UnimplementedError.of_no_node(
            f"{name} asks a service of a cloud for the cluster: pass the addresses to "
            "SimpleClusterResolver, or set TF_CONFIG"
        )

    doc = "Refused when it is called: the cluster of a cloud's service."
    return type(name, (ClusterResolver,), {"__init__": refuse, "__doc__": doc})


GCEClusterResolver = _refused("GCEClusterResolver")
KubernetesClusterResolver = _refused("KubernetesClusterResolver")
SlurmClusterResolver = _refused("SlurmClusterResolver")
TPUClusterResolver = _refused("TPUClusterResolver")

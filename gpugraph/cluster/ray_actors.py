"""Clusters on Ray. Each server is an actor, which Ray places and restarts.

    ray_cluster({"ps": 1, "worker": 4})
     |   a bundle of resources for each task       Ray places it on a machine, permanently
     |   an actor in it, with a free port          Ray restarts it if it dies
     |   once all addresses are known, each actor starts its server
     '-- a thread supervises them: a new process gets its server back, at the old address

Ray is an extra, `gpugraph[ray]`. Ray pickles the functions that `RayCluster.run` calls, and their
data. Messages between the servers contain no pickles.
"""

from __future__ import annotations

import importlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.errors import UnavailableError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.optional_packages import package_of_extra
from gpugraph.cluster.cluster_spec import ClusterSpec
from gpugraph.cluster.grpc_server import Server
from gpugraph.config.environment import change_setting, seconds, setting
from gpugraph.graph.client.client_graph import Graph

_LOG = logging.getLogger("gpugraph")
_LOOK_S = 0.5
_STATE_S = 10.0
_CALLS = 16  # maximum number of concurrent calls of an actor
_KEY = "GPUGRAPH_CLUSTER_KEY"

Addresses = Mapping[str, list[str]]
"""The addresses of the tasks of each job."""


def ray() -> Any:
    """Return the module `ray`. If Ray is not installed, raise ModuleNotFoundError with
    instructions.
    """
    with package_of_extra("ray", "ray", "Clusters on Ray"):
        return importlib.import_module("ray")


class TaskLocation(NamedTuple):
    """The data that a task's server needs: the addresses of all tasks, Ray's id of the server's
    machine, and the cluster's key.
    """

    addresses: Addresses
    node: str
    key: str


class RayTask:
    """The task that executes a call of a function that was passed to `RayCluster.run`. This object
    is the first argument of the function.

    Attributes:
      job, index: the task's name.
      cluster: the ClusterSpec.
      server: the task's Server.
    """

    def __init__(
        self, job: str, index: int, addresses: Addresses, server: Server, note: Callable[[Any], Any]
    ) -> None:
        self.job, self.index, self.server = job, index, server
        self.cluster = ClusterSpec(dict(addresses))
        self._note = note

    @property
    def target(self) -> str:
        """The target of sessions that use this task's server."""
        return self.server.target

    @property
    def device(self) -> str:
        """The task as a prefix of device names, such as `/job:worker/task:1`."""
        return f"/job:{self.job}/task:{self.index}"

    def report(self, **values: Any) -> None:
        """Report numbers and strings about the task's progress, which `RayCluster.progress`
        returns.
        """
        self._note(values)


class ServerActor:
    """A task of a cluster, as an actor of Ray."""

    def __init__(self, job: str, index: int) -> None:
        self._job, self._index = job, index
        self._server: Server | None = None
        self._progress: dict[str, Any] = {}
        self._lock = new_lock()

    def find_place(self) -> tuple[str, str, int]:
        """Return Ray's id of this machine, the machine's address, and the number of a free port."""
        with socket.create_server(("", 0)) as listener:
            port = int(listener.getsockname()[1])
        return _node(), str(ray().util.get_node_ip_address()), port

    def start(self, location: TaskLocation) -> int:
        """Start the server if it is not running. Return the process id.

        Raises UnavailableError if Ray has restarted the actor on another machine.
        """
        with self._lock:
            if self._server is None:
                if _node() != location.node:
                    raise UnavailableError.of_no_node(
                        f"{self._job}:{self._index} was started on another machine, as its own is "
                        "gone: make another cluster"
                    )
                if location.key:
                    change_setting(_KEY, location.key)
                self._server = Server(dict(location.addresses), self._job, self._index)
        return os.getpid()

    def state(self) -> tuple[int, bool, dict[str, Any]]:
        """Return the process id, whether the server is running, and the last report."""
        return os.getpid(), self._server is not None, self._progress

    def work(
        self, location: TaskLocation, function: Callable[..., Any], arguments: Sequence[Any]
    ) -> Any:
        """Call the function with a RayTask and the arguments, in a new graph."""
        self.start(location)
        assert self._server is not None
        task = RayTask(self._job, self._index, location.addresses, self._server, self._note)
        with Graph().as_default():
            return function(task, *arguments)

    def _note(self, values: Mapping[str, Any]) -> None:
        self._progress = {**self._progress, **values, "time": time.time()}


def _node() -> str:
    return str(ray().get_runtime_context().get_node_id())


def ray_cluster(
    jobs: Mapping[str, int],
    resources: Mapping[str, Mapping[str, float]] | None = None,
    address: str | None = None,
    wait_s: float = 0.0,
    **init: Any,
) -> RayCluster:
    """Return a cluster whose servers are actors of Ray.

    If all tasks are on the program's machine, the servers of the tasks listen on localhost.
    Otherwise the servers need a GPUGRAPH_CLUSTER_KEY. If the program has none, a new key is created
    and set.

    Raises ModuleNotFoundError if Ray is not installed. Raises InvalidArgumentError if a job has no
    tasks, or if `resources` names an unknown job. Raises UnavailableError if Ray can't place the
    tasks.

    Args:
      jobs: the number of tasks of each job.
      resources: the resources that each task of a job requires, by job, under Ray's names:
        `{"worker": {"CPU": 2, "GPU": 1}}`. The default is one CPU.
      address: the address of a running Ray, or "auto" for Ray on this machine. None starts Ray on
        this machine, with as many CPUs as are requested, unless the program has called `ray.init`.
      init: additional arguments of `ray.init`.
      wait_s: the number of seconds to wait until Ray has placed the tasks. 0 means the value of
        GPUGRAPH_CLUSTER_WAIT.
    """
    needed = dict(resources or {})
    if not jobs or min(jobs.values()) < 1 or set(needed) - set(jobs):
        raise invalid_argument(
            f"A cluster has jobs of one or more tasks, and resources of these, not {dict(jobs)} "
            f"and {needed}"
        )
    bundles = {
        (job, index): {name: float(count) for name, count in needed.get(job, {"CPU": 1}).items()}
        for job, count in jobs.items()
        for index in range(count)
    }
    is_ours = not ray().is_initialized()
    if is_ours:
        if address is None:
            cpus = sum(bundle.get("CPU", 0.0) for bundle in bundles.values())
            init = {"num_cpus": max(os.cpu_count() or 1, int(cpus + 1)), **init}
            init.setdefault("include_dashboard", False)
        ray().init(address=address, **init)
    try:
        return RayCluster(bundles, wait_s or seconds("GPUGRAPH_CLUSTER_WAIT"), is_ours)
    except BaseException:
        if is_ours:
            ray().shutdown()
        raise


class RayCluster:
    """Servers that are actors of Ray, created by `ray_cluster`. Used as a context manager, a
    RayCluster ends the servers on exit.

    Attributes:
      cluster_spec: the ClusterSpec.
      restarts: the number of times that Ray has restarted each task, by job and task number.
    """

    def __init__(
        self, bundles: Mapping[tuple[str, int], dict[str, float]], wait_s: float, owns_ray: bool
    ) -> None:
        self._owns_ray = owns_ray
        self._ended = threading.Event()
        group = ray().util.placement_group(list(bundles.values()), strategy="PACK")
        self._group = group
        if not group.wait(timeout_seconds=wait_s):
            ray().util.remove_placement_group(group)
            raise UnavailableError.of_no_node(
                f"Ray found no place for {len(bundles)} tasks within {wait_s:g} s: they need "
                f"{list(bundles.values())}, there is {ray().available_resources()}"
            )
        self._actors = {
            task: self._actor(task, number, bundle)
            for number, (task, bundle) in enumerate(bundles.items())
        }
        places = ray().get([actor.find_place.remote() for actor in self._actors.values()])
        is_here = {node for node, _, _ in places} == {_node()}
        self.addresses: dict[str, list[str]] = {}
        for (job, _), (_, host, port) in zip(self._actors, places):
            self.addresses.setdefault(job, []).append(f"{'localhost' if is_here else host}:{port}")
        self.cluster_spec = ClusterSpec(self.addresses)
        key = setting(_KEY) or ("" if is_here else os.urandom(32).hex())
        if key:
            change_setting(_KEY, key)
        self._places = {
            task: TaskLocation(self.addresses, node, key)
            for task, (node, _, _) in zip(self._actors, places)
        }
        starting = [actor.start.remote(self._places[task]) for task, actor in self._actors.items()]
        self._processes = dict(zip(self._actors, ray().get(starting)))
        self.restarts = dict.fromkeys(self._actors, 0)
        self._progress: dict[tuple[str, int], dict[str, Any]] = {x: {} for x in self._actors}
        threading.Thread(target=self._look_after, name="gpugraph-ray", daemon=True).start()

    def _actor(self, task: tuple[str, int], number: int, bundle: Mapping[str, float]) -> Any:
        strategy = ray().util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            placement_group=self._group, placement_group_bundle_index=number
        )
        others = {name: x for name, x in bundle.items() if name not in ("CPU", "GPU")}
        actor = (
            ray()
            .remote(ServerActor)
            .options(
                num_cpus=bundle.get("CPU", 0.0),
                num_gpus=bundle.get("GPU", 0.0),
                resources=others,
                scheduling_strategy=strategy,
                max_restarts=-1,
                max_task_retries=-1,
                max_concurrency=_CALLS,
            )
        )
        return actor.remote(*task)

    def _look_after(self) -> None:
        """Until `shutdown` is called, start the servers again in processes that Ray has
        restarted.
        """
        while not self._ended.wait(_LOOK_S):
            for task, actor in self._actors.items():
                try:
                    self._look_at(task, actor)
                except Exception as error:  # an error of Ray, which keeps trying
                    if not self._ended.is_set():
                        _LOG.warning("%s:%d does not answer: %s", *task, type(error).__name__)

    def _look_at(self, task: tuple[str, int], actor: Any) -> None:
        process, is_serving, progress = ray().get(actor.state.remote(), timeout=_STATE_S)
        self._progress[task] = progress
        if not is_serving:
            process = ray().get(actor.start.remote(self._places[task]), timeout=_STATE_S)
        if process != self._processes[task]:
            self._processes[task] = process
            self.restarts[task] += 1
            _LOG.warning("%s:%d was restarted, as process %d", *task, process)

    def target(self, job: str, index: int = 0) -> str:
        """Return the `target` of sessions that use this task as their master."""
        return f"grpc://{self.cluster_spec.task_address(job, index)}"

    @property
    def targets(self) -> dict[str, list[str]]:
        """The targets of all tasks, by job."""
        return {job: [f"grpc://{x}" for x in tasks] for job, tasks in self.addresses.items()}

    def progress(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Return the last report of each task. Its entry `time` is the time of the report."""
        return dict(self._progress)

    def processes(self) -> dict[tuple[str, int], int]:
        """Return the process id of each task."""
        return dict(self._processes)

    def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        job: str = "worker",
        on_progress: Callable[[dict[tuple[str, int], dict[str, Any]]], Any] | None = None,
    ) -> list[Any]:
        """Call `function(ray_task, *arguments)` in each task of a job, and return the results.

        The output of the tasks appears in this process, with the names of the actors. If a process
        dies, the function is called again in the process that replaces it.

        Raises the errors that the function raises.

        Args:
          on_progress: a function that is called twice a second with the tasks' reports.
        """
        if job not in self.addresses:
            raise invalid_argument(f"There is no job {job!r}: {', '.join(self.addresses)}")
        waiting = [
            actor.work.remote(self._places[task], function, arguments)
            for task, actor in self._actors.items()
            if task[0] == job
        ]
        left = waiting
        while left and on_progress is not None:
            _, left = ray().wait(left, num_returns=len(left), timeout=_LOOK_S)
            on_progress(self.progress())
        return list(ray().get(waiting))

    def shutdown(self) -> None:
        """End all servers, and Ray if `ray_cluster` has started it."""
        if self._ended.is_set():
            return
        self._ended.set()
        for actor in self._actors.values():
            ray().kill(actor, no_restart=True)
        ray().util.remove_placement_group(self._group)
        if self._owns_ray:
            ray().shutdown()

    def __enter__(self) -> RayCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

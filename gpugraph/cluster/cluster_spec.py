"""ClusterSpec: the jobs of a cluster, and the addresses of their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.formats import messages_pb2


class ClusterSpec:
    """The addresses, `"host:port"`, of the tasks of each job.

    Raises TypeError if `cluster` has none of the types below, and ValueError if a task number is
    not an integer.

    Args:
      cluster: a ClusterDef, another ClusterSpec, or a mapping from job names to jobs. A job is a
        list of addresses, or a mapping from task numbers to addresses.
    """

    def __init__(self, cluster: Any) -> None:
        self._tasks = {
            _text(f"Job name {name!r}", name): _addresses(name, tasks)
            for name, tasks in _jobs(cluster).items()
        }

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._tasks == other._tasks

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))})"

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def as_dict(self) -> dict[str, Any]:
        """Return the addresses of each job: a list or, if the task numbers are not consecutive, a
        dict from task numbers to addresses.
        """
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._tasks.items()
        }

    def as_cluster_def(self) -> Any:
        """Return the cluster as a ClusterDef message, its jobs sorted by name."""
        message = messages_pb2.ClusterDef()
        for job, tasks in sorted(self._tasks.items()):
            message.job.add(name=job, tasks=tasks)
        return message

    def num_tasks(self, job_name: str) -> int:
        """Return the number of a job's tasks. Raises ValueError for an unknown job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the numbers of a job's tasks in ascending order. Raises ValueError for an unknown
        job.
        """
        return list(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task. Raises ValueError for an unknown job or number."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the addresses of a job's tasks in the order of their numbers. None represents a
        number without a task.

        Raises ValueError for an unknown job.
        """
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._tasks:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._tasks[name]


def _jobs(cluster: Any) -> Mapping[Any, Any]:
    """Convert any argument that ClusterSpec accepts to a mapping from job names to tasks."""
    if isinstance(cluster, ClusterSpec):
        return cluster._tasks
    if isinstance(cluster, Mapping):
        return cluster
    descriptor = getattr(type(cluster), "DESCRIPTOR", None)
    if getattr(descriptor, "full_name", "") == "tensorflow.ClusterDef":  # also `config`'s class
        return {job.name: dict(job.tasks) for job in cluster.job}
    raise TypeError(
        "`cluster` must be a dictionary mapping one or more job names to lists of network "
        "addresses, or a `ClusterDef` protocol buffer"
    )


def _addresses(job: Any, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, Mapping):
        numbered = {task_number(index): address for index, address in tasks.items()}
    elif isinstance(tasks, (list, tuple)):
        numbered = dict(enumerate(tasks))
    else:
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
        )
    return {
        index: _text(f"Task address {address!r}", address)
        for index, address in sorted(numbered.items())
    }


def check_addresses(cluster: ClusterSpec) -> None:
    """Raise ValueError if two tasks of a cluster have the same address.

    Port 0, which means any free port, may occur several times. The job "evaluator" is not checked,
    because an estimator's evaluator is not part of the cluster, and programs may give it any
    address.
    """
    task_of: dict[str, str] = {}
    for job, tasks in cluster._tasks.items():
        for index, address in tasks.items() if job != "evaluator" else ():
            task = f"/job:{job}/task:{index}"
            first = task_of.setdefault(address, task)
            if first != task and not address.endswith(":0"):
                raise ValueError(
                    f"Two tasks of a cluster have the address {address!r}: {first} and {task}. "
                    "Each task is a separate process, so give each a separate address"
                )


def task_number(value: Any) -> int:
    """Convert a task number, which is an integer or its text, to an int.

    Raises ValueError for any other value, such as 0.5 or -1.
    """
    is_whole = isinstance(value, (str, int)) or hasattr(value, "__index__")
    if is_whole and not isinstance(value, bool) and (number := int(value)) >= 0:
        return number
    raise ValueError(f"The number of a task must be an integer from 0 on, but it is {value!r}")


def _text(what: str, value: Any) -> str:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"{what} must be bytes or unicode")
    return value if isinstance(value, str) else value.decode()

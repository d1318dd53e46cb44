"""`Task`: the task of this process, with its devices, its index among the workers, and whether it
is the chief.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.cluster.cluster_spec import ClusterSpec, check_addresses, task_number
from gpugraph.library.distribute.device_lists import all_local_devices, canonical_device

_WORKERS = ("chief", "worker")
_TASKS = (*_WORKERS, "evaluator", "ps")


class Task:
    """The task of this process, as a cluster resolver determines it.

    Raises ValueError if the resolver has no task, if the cluster does not contain the task, or if
    two tasks have the same address.
    """

    def __init__(self, resolver: Any) -> None:
        self.spec = ClusterSpec(resolver.cluster_spec())
        check_addresses(self.spec)
        if not resolver.task_type or resolver.task_id is None:
            raise ValueError("When `cluster_spec` is given, you must also specify `task_type` and "
                             "`task_id`")  # fmt: skip
        self.type, self.id = str(resolver.task_type), task_number(resolver.task_id)
        if self.type not in _TASKS:
            raise ValueError(f"Unrecognized task_type: {self.type!r}, valid task types are: "
                             '"chief", "worker", "evaluator" and "ps".')  # fmt: skip
        if self.type not in self.spec.jobs and self.type != "evaluator":
            raise ValueError(f"`task_type` {self.type!r} not found in cluster_spec, which has "
                             f"{', '.join(self.spec.jobs)}")  # fmt: skip
        for job in ("chief", "evaluator"):
            if self.count(job) > 1:
                raise ValueError(f"There must be at most one '{job}' job.")
        if self.type != "evaluator" and self.id >= self.count(self.type):
            raise ValueError(
                f"The `task_id` {self.id} exceeds the maximum id of {self.type}. The maximum is "
                f"{self.count(self.type) - 1}: the cluster (of TF_CONFIG, unless another resolver "
                f"was passed) has {self.count(self.type)} tasks of the job {self.type!r}"
            )

    @property
    def device(self) -> str:
        """The name of the task in the form of a device name."""
        return f"/job:{self.type}/task:{self.id}"

    def devices(self) -> tuple[str, ...]:
        """Return the devices of the task's replicas: its GPUs, or its CPU."""
        names = [name.partition("/device:")[2] for name in all_local_devices()]
        return tuple(canonical_device(f"{self.device}/device:{name}") for name in names)

    def count(self, job: str) -> int:
        """Return the number of tasks of a job."""
        return self.spec.num_tasks(job) if job in self.spec.jobs else 0

    @property
    def num_workers(self) -> int:
        """The number of tasks that train. For an evaluator, the number is 1."""
        return 1 if self.type == "evaluator" else sum(self.count(job) for job in _WORKERS)

    @property
    def is_chief(self) -> bool:
        """Whether this task is the chief. The chief is the task of the job `chief` or, if there is
        none, the first worker.
        """
        if self.count("chief"):
            return self.type == "chief"
        return self.type in ("evaluator", "worker") and self.id == 0

    @property
    def number(self) -> int:
        """The index of this task among the tasks that train, counted from 0."""
        return self.id + (self.count("chief") if self.type == "worker" else 0)

    def leader(self) -> str:
        """Return the name of the task that leads collectives."""
        job = "chief" if self.count("chief") else "worker"
        return f"/job:{job}/replica:0/task:0"

    def device_filters(self, jobs: Sequence[str]) -> list[str]:
        """Return device filters for a session that uses only this task and the tasks of `jobs`."""
        return [self.device, *(f"/job:{job}" for job in jobs if self.count(job))]

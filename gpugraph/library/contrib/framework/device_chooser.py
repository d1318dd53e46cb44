"""A device function that places variables on the tasks of a job in round-robin order."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.device_names import DeviceSpec


class VariableDeviceChooser:
    """A device function for `tf.device`: each operation gets the next task of a job, cyclically.

    Args:
      num_tasks: the number of tasks of the job. If the number is 0, the device names contain no job
        and no task.
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ) -> None:
        self._job_name, self._num_tasks = job_name, num_tasks
        self._device_type, self._device_index = device_type, device_index
        self._replica = replica
        self._next_task = 0

    def __call__(self, op: Any) -> str:
        """Return the name of the next device. It does not depend on `op`."""
        del op
        job = task = None
        if self._num_tasks > 0:
            job, task = self._job_name, self._next_task
            self._next_task = (task + 1) % self._num_tasks
        spec = DeviceSpec(
            job=job, replica=self._replica, task=task, device_type=self._device_type,
            device_index=self._device_index,
        )  # fmt: skip
        return spec.to_string()

"""`replica_device_setter`, which assigns devices in a graph whose variables are on parameter
servers.

In this module, a strategy is a function that receives the operation of a variable and returns the
task number of the parameter server for it. The default strategy is round-robin.
`GreedyLoadBalancingStrategy` chooses the server with the smallest load.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.base.value_text import shown
from gpugraph.cluster.cluster_spec import ClusterSpec
from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.platform import logging

Strategy = Callable[[Any], int]

STANDARD_PS_OPS = (
    *("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2"),
    *("MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable"),
    *("MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp"),
    *("BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator"),
    "DecisionTreeResource",
)
"""The op types of variables and tables, which hold learned values."""


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Iterable[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> Callable[[Operation], str] | None:
    """Return a function for `tf.device` that places variables on tasks of `ps_device`.

    All other operations are placed on `worker_device`.

    Raises TypeError if the type of `cluster` is not one of the types below, or if `ps_strategy` is
    not callable.

    Args:
      ps_tasks: the number of parameter servers. If it is 0, return None, which requests no device.
      merge_devices: whether to add the missing fields to the device of an operation that already
        requests one. If False, its device is not changed.
      cluster: a dict of jobs to addresses, a ClusterDef or a ClusterSpec, which determines the
        number of parameter servers. If it does not have the job of `ps_device`, return None.
      ps_ops: the op types to place on parameter servers. The default is the types of variables and
        tables.
      ps_strategy: a function that returns the task for such an operation. The default is
        round-robin.

    >>> with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
    ...     v = tf.Variable(1.0); y = v * 2
    >>> v.device, y.device
    ('/job:ps/task:0', '/job:worker')
    """
    if cluster is not None:
        job = DeviceSpec.from_string(text_of("ps_device", ps_device)).job
        spec = ClusterSpec(cluster)
        ps_tasks = spec.num_tasks(job) if job in spec.jobs else 0
    if ps_tasks == 0:
        return None
    if not merge_devices:
        logging.warning(
            "DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter"
        )
    strategy = _one_after_the_other(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError(f"ps_strategy must be callable, but it is {shown(ps_strategy)}")
    types = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)

    def device_of(op: Operation) -> str:
        """Return the device of an operation."""
        if op.device and not merge_devices:
            return op.device
        asked = DeviceSpec.from_string(op.device)
        if not ps_device or op.type not in types:
            return DeviceSpec.from_string(worker_device).make_merged_spec(asked).to_string()
        server = DeviceSpec.from_string(ps_device)
        if server.job and asked.job in (None, server.job):
            server.task = strategy(op)
        return server.make_merged_spec(asked).to_string()

    return device_of


def _one_after_the_other(num_tasks: int) -> Strategy:
    tasks = itertools.cycle(range(num_tasks))

    def next_task(op: Any) -> int:
        del op
        return next(tasks)

    return next_task


class GreedyLoadBalancingStrategy:
    """A strategy for `replica_device_setter` that chooses the task with the smallest load so far.

    If several tasks have the smallest load, it chooses the lowest task number.

    Args:
      num_tasks: the number of tasks.
      load_fn: a function that returns the load of an operation, such as `byte_size_load_fn`.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        try:
            self._loads = [0.0] * num_tasks
        except (OverflowError, MemoryError) as error:
            raise ValueError(f"num_tasks is too large: {num_tasks}") from error
        self._load_fn = load_fn

    def __call__(self, op: Any) -> int:
        """Return the task number for the operation, and add the operation's load to that task."""
        task = min(range(len(self._loads)), key=self._loads.__getitem__)
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Operation) -> int:
    """Return the size in bytes of an operation's only output. If it is a handle, return the size of
    its variable.

    Raises ValueError if the operation has several outputs or the shape is unknown. The size of a
    reference variable of unknown shape is computed as if it were a scalar.
    """
    outputs = op.outputs
    if len(outputs) != 1:
        raise ValueError(f"Op {op!r} must have a single output, but it has {len(outputs)}")
    if op.type == "VarHandleOp":
        dtype, shape = op.attrs["dtype"], TensorShape(op.attrs["shape"])
    else:
        dtype, shape = outputs[0].dtype.base_dtype, outputs[0].shape
    known = TensorShape([]) if shape.rank is None else shape
    count = known.num_elements()
    if count is None:
        raise ValueError(f"Shape {known} of op {op!r} is not fully defined")
    return count * int(dtype.size)

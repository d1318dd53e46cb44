"""Runs the compile passes one by one, each followed by `verify`, and inspects their results.

unit = compiled([y], {x: (3,)}, upto="placer", target=make_target(gpus=2))
where(unit, "add")                                    "GPU:0"
run([y], {x: array}, target)                          the fetches' values
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gpugraph as tf
from gpugraph.compile import PASSES, FeedSpec, RunRequest, Target, compile_plan
from gpugraph.compile.lowering.prune import prune
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.verification import verify
from gpugraph.devices import DeviceFactory, Resources
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Plan
from gpugraph.runtime import Rendezvous, execute

__all__ = ["compiled", "execute", "make_plan", "make_target", "node", "run", "types", "where"]

PREFIX = "/job:localhost/replica:0/task:0"


def make_target(
    cpus: int = 1, gpus: Any = 0, soft: bool = False, resources: Resources | None = None
) -> Target:
    """Devices and state as a session has them; `gpus` as in `GPUOptions(virtual_gpus=)`."""
    config = tf.ConfigProto(
        device_count={"CPU": cpus},
        gpu_options=tf.GPUOptions(virtual_gpus=gpus),
        allow_soft_placement=soft,
    )
    devices = DeviceFactory.add_devices(tf.SessionOptions(config=config), PREFIX)
    return Target(devices, resources or Resources(), config, "none was asked for", True, Rendezvous)


def request(fetches: Sequence[Any], feeds: Mapping[tf.Tensor, Any]) -> RunRequest:
    """A run of fetched tensors and target operations, with fed shapes."""
    specs = [
        FeedSpec(tensor.name, tensor.dtype.base_dtype, shape) for tensor, shape in feeds.items()
    ]
    tensors = [fetch for fetch in fetches if isinstance(fetch, tf.Tensor)]
    targets = [fetch for fetch in fetches if isinstance(fetch, tf.Operation)]
    return RunRequest(fetches[0].graph, specs, tensors, targets)


def compiled(
    fetches: Sequence[Any],
    feeds: Mapping[tf.Tensor, Any] | None = None,
    upto: str = "memory_planning",
    target: Target | None = None,
) -> Unit:
    """Return the unit after the pass `upto`, for fetched tensors, target operations and fed
    shapes.
    """
    unit = prune(target or make_target(), request(fetches, feeds or {}))
    verify(unit)
    for change in PASSES:
        if unit.reports[-1].name == upto:
            break
        change(unit)
        verify(unit)
    assert unit.reports[-1].name == upto
    return unit


def make_plan(
    fetches: Sequence[Any],
    feeds: Mapping[tf.Tensor, Any] | None = None,
    target: Target | None = None,
) -> Plan:
    return compile_plan(target or make_target(), request(fetches, feeds or {}))


def run(
    fetches: Sequence[Any],
    feeds: Mapping[tf.Tensor, Any] | None = None,
    target: Target | None = None,
) -> list[Any]:
    """Run a separate plan once."""
    values = {
        tensor: np.asarray(value, tensor.dtype.base_dtype.as_numpy_dtype)
        for tensor, value in (feeds or {}).items()
    }
    plan = make_plan(fetches, {tensor: value.shape for tensor, value in values.items()}, target)
    try:
        return execute(plan, list(values.values()))
    finally:
        plan.release()


def node(unit: Unit, name: str) -> Node:
    """Return the node called `name`, or the one whose name begins so: passes append to names."""
    result = unit.graph.find(name)
    if result is not None:
        return result
    (only,) = [each for each in unit.graph.op_nodes() if each.name.startswith(name)]
    return only


def where(unit: Unit, name: str) -> str:
    """Return the short name of a node's device."""
    return node(unit, name).assigned_device.rpartition("device:")[2]


def types(unit: Unit) -> list[str]:
    """Return the op types in the unit's graph, sorted, without `_Arg` and `_Retval`."""
    found_nodes = [node.type for node in unit.graph.op_nodes()]
    return sorted(node for node in found_nodes if node not in ("_Arg", "_Retval"))

"""Placement on a cluster: decides which task executes each operation of a run, and explains why.

The compiler's placer chooses among the devices of all tasks, with the master's devices first. When
a task compiles its part of the run, the placer chooses again among that task's own devices.
Operations that can't be separated are colocated. An op that reads a resource handle is placed on
the task of the op that creates the handle. All operations of a branch or a loop go to one task. If
its operations request several tasks, the run raises UnimplementedError. Ops that only pass a tensor
into the branch or loop (a Switch, an Enter) also go to this task, although they request the device
of their tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from gpugraph.base.dtypes import resource
from gpugraph.base.errors import OpError, UnimplementedError
from gpugraph.base.shapes import TensorShape
from gpugraph.cluster.part_specs import StageSpec
from gpugraph.cluster.task_sessions import from_task
from gpugraph.compile import FeedSpec, RunRequest, Target
from gpugraph.compile.lowering.prune import prune
from gpugraph.compile.placement.placer import place
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.config import ConfigProto
from gpugraph.devices import Device, DeviceAttributes, Resources
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import DeviceSpec, merge_specs
from gpugraph.graph.nodes.node_and_edge import FORWARDING
from gpugraph.graph.nodes.runtime_graph import NodeClass
from gpugraph.runtime import Rendezvous
from gpugraph.session.partial_run_graph import PartialRunGraph

_MAX_NAMES = 12
_UNKNOWN = TensorShape.of(None)
_LEADING = frozenset((NodeClass.MERGE, *FORWARDING))
"""Classes of ops that pass tensors into branches and loops, and out of them."""


class ClusterPlacer:
    """A placer for the runs of one session on the devices of its cluster."""

    def __init__(self, devices: Sequence[DeviceAttributes], config: ConfigProto) -> None:
        # Placement only reads the name and the type of a device.
        self._target = Target(
            cast("Sequence[Device]", devices), Resources(), config, "", False, Rendezvous
        )

    def tasks(
        self,
        graph: Graph,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        connections: Mapping[Tensor, Tensor],
        done: Sequence[Operation],
    ) -> dict[str, str]:
        """Return the task of each operation that the run needs, by operation name.

        Raises InvalidArgumentError if a placeholder is not fed or a device is unknown, and
        UnimplementedError if the operations of a branch or loop request several tasks.
        """
        specs = [FeedSpec(tensor.name, tensor.dtype.base_dtype, None) for tensor in feeds]
        request = RunRequest(graph, specs, fetches, targets, connections, done)
        unit = self._placed(request, {})
        if len({node.assigned_device for node in unit.graph.op_nodes()}) > 1:
            requests = _brought_together(unit, set(feeds), fetches, targets)
            if requests:
                unit = self._placed(request, requests)
        return {node.name: task_of(node.assigned_device) for node in unit.graph.op_nodes()}

    def _placed(self, request: RunRequest, requests: Mapping[str, str]) -> Unit:
        try:
            unit = prune(self._target, request)
        except OpError as error:
            raise from_task(task_of(self._target.devices[0].name), error) from error
        for node in unit.graph.op_nodes():
            unit.shapes[node.id] = [_UNKNOWN] * len(node.output_types)
            if node.name in requests:
                if node.node_class in _LEADING:
                    node.attrs = {key: x for key, x in node.attrs.items() if key != "_class"}
                node.requested_device = merge_specs(requests[node.name], node.requested_device)
        place(unit)
        return unit


def task_of(device: str) -> str:
    """Return the task in a full device name, such as `/job:worker/replica:0/task:1`."""
    return device.partition("/device:")[0]


def _brought_together(
    unit: Unit, feeds: set[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation]
) -> dict[str, str]:
    """Return the task of each operation that must be on the same task as other operations, by the
    operation's name.

    The result is empty if the placer has already put such operations on the same task.
    """
    nodes: dict[str, Any] = {node.name: node for node in unit.graph.op_nodes()}
    wanted = [tensor.op for tensor in fetches if tensor not in feeds]
    graph = PartialRunGraph(feeds, [*wanted, *targets])
    requests: dict[str, str] = {}

    def task(op: Operation) -> str:
        return requests.get(op.name) or task_of(nodes[op.name].assigned_device)

    is_apart = False
    for op in graph.operations:
        for tensor in op._inputs:
            if tensor._dtype is resource:
                is_apart |= task(tensor.op) != task(op)
                requests[tensor.op.name] = requests[op.name] = task(tensor.op)
    for group in {id(group): group for group in graph.groups.values()}.values():
        is_apart |= len(set(map(task, group))) > 1
        requests |= dict.fromkeys((op.name for op in group), _common_task(group, nodes, task))
    return requests if is_apart else {}


def _common_task(group: Sequence[Operation], nodes: Mapping[str, Any], task: Any) -> str:
    """Return the task for a group of inseparable operations.

    A member that requests a job or has a reference input can't be moved, so the group goes to its
    task. If the group has no such member, the group goes to the task of its first member. Raises
    UnimplementedError if members that can't be moved are on several tasks.
    """
    bound = {
        task(op)
        for op in group
        if (
            DeviceSpec.from_string(op._device).job is not None
            and nodes[op.name].node_class not in _LEADING
        )
        or any(dtype.is_ref_dtype for dtype in nodes[op.name].input_types)
    }
    tasks = set(map(task, group))
    if len(tasks) == 1:
        return tasks.pop()
    if len(bound) > 1:
        raise UnimplementedError(
            group[0]._record,
            group[0],
            f"A branch or a loop of several tasks is not supported: '{group[0].name}' and "
            f"{len(group) - 1} other operations ask for {', '.join(sorted(bound))}. Place them on "
            "one task, or compute what the others need outside of it",
        )
    return next(iter(bound), task(group[0]))


class ClusterExplanation(NamedTuple):
    """A text with the assignment of a run's operations to the tasks of a cluster.

    It does not explain how a task compiles its stages, because the plans exist only in the task's
    process.
    """

    text: str

    def __str__(self) -> str:
        return self.text


def explanation_of(
    tasks: Mapping[str, str],
    stages: Mapping[str, Sequence[StageSpec]],
    far: Sequence[str],
    master: str,
) -> str:
    """Return the text for a run: the task of each operation, and the stages of each task.

    Args:
      tasks: the task of each operation, by name.
      master: the task that runs the session's master.
      far: the tasks that do not share memory with the master.
    """
    lines = [f"A run over {len(stages)} task{'s' if len(stages) > 1 else ''}"]
    for task, part in stages.items():
        names = [name for name, other in tasks.items() if other == task and name[0] != "_"]
        lines.append(f"{task}: {len(names)} operations: {_listed(names)}")
        for number, stage in enumerate(part, 1):
            lines.append(f"  stage {number}: {'; '.join(_words(stage)) or 'nothing'}")
    for task in far:
        lines.append(f"{task} and {master} share no memory: tensors go over gRPC")
    return "\n".join(lines)


def _words(stage: StageSpec) -> list[str]:
    words = [f"takes {key or 'the end'} of {task}" for _, task, key in stage.receives]
    computed = [name for name, _ in stage.fetches]
    makers = {name.partition(":")[0] for name in computed}
    run = [name for name in stage.targets if name not in makers]
    if run:
        words.append(f"runs {_listed(run)}")
    if computed:
        words.append(f"computes {_listed(computed)}")
    ways = [(way.rpartition(">")[2], key) for way, key in stage.sends]
    return words + [f"sends {key or 'its end'} to {task}" for task, key in ways]


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more

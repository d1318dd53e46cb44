"""Finds the collectives that span several processes, and the collectives to execute together.

A member is one collective operation of a group, on one device. If all members of a group are in one
run and on one task, that task replaces them by local ops when it compiles its part of the run
(`compile/lowering/collectives_joined.py`). All other groups are executed between stages. The stage
that computes a member's input passes the input on immediately, and the collective's output is fed
to later stages.

With `RewriterConfig.scoped_allocator_optimization`, reductions that have the same group and kind
and start in one stage form a bucket of up to `GPUGRAPH_COLLECTIVE_BUCKET` bytes. The reductions of
a bucket are reduced together, as soon as the last input is available. The contents of a bucket
depend only on the graph, so sessions with equal graphs have equal buckets. If the buckets of two
members differ, both members receive an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.config import ConfigProto, RewriterConfig
from gpugraph.config.environment import whole_number
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.graph.nodes.node_and_edge import NodeClass, class_of_type


class CollectiveSpec(NamedTuple):
    """A bucket of collectives that one task executes together.

    Args:
      operations: the names of the members, grouped by collective. Each collective has `num_local`
        members, in the order of their devices.
      leader: the task where the members of all tasks meet.
      is_whole: whether all members are in one run.
      is_inside: whether the collective is in a branch or a loop. If so, the plan itself waits for
        the result.
    """

    operations: Sequence[str]
    num_local: int
    leader: str
    is_whole: bool
    is_inside: bool = False


class CollectiveGroup(NamedTuple):
    """The members of one collective that are in a run.

    Args:
      is_spread: whether the collective spans several processes.
      is_whole: whether the run contains all members of the group.
      tasks: the sorted tasks of the members.
      is_inside: whether the run's only member is in a branch or a loop.
    """

    members: Sequence[Operation]
    is_spread: bool
    is_whole: bool
    tasks: Sequence[str]
    is_inside: bool = False


def is_collective(op: Operation) -> bool:
    """Return whether the operation is a member of a collective."""
    return class_of_type(op.type) is NodeClass.COLLECTIVE


def collective_groups(
    operations: Iterable[Operation], task_of: Callable[[Operation], str]
) -> dict[Operation, CollectiveGroup]:
    """Return the group of each collective operation of a run.

    Raises InvalidArgumentError if a group has more members in the run than its attr `group_size`.
    """
    by_keys: dict[tuple[int, int], list[Operation]] = {}
    for op in operations:
        if is_collective(op):
            keys = op.attrs["group_key"], op.attrs["instance_key"]
            by_keys.setdefault(keys, []).append(op)
    groups: dict[Operation, CollectiveGroup] = {}
    for (group, instance), members in by_keys.items():
        size = members[0].attrs["group_size"]
        if len(members) > size:
            raise InvalidArgumentError(
                members[0]._record,
                members[0],
                f"The collective of group {group}, instance {instance} can't be done: "
                f"{len(members)} members are in this run, but the group has {size}: "
                f"{', '.join(op.name for op in members)}",
            )
        tasks = sorted({task_of(op) for op in members})
        is_whole = len(members) == size
        is_spread = len(tasks) > 1 or not is_whole
        group_of_run = CollectiveGroup(members, is_spread, is_whole, tasks)
        groups |= dict.fromkeys(members, group_of_run)
    return groups


def collective_specs(
    stage: Sequence[Operation],
    groups: Mapping[Operation, CollectiveGroup],
    config: ConfigProto,
    leader: str,
) -> list[CollectiveSpec]:
    """Return buckets of the collectives over several processes that start in a stage of one task.

    Args:
      leader: the task where members in several runs meet, unless `config` names a task.
    """
    instances: dict[int, list[Operation]] = {}
    for op in stage:
        if op in groups and groups[op].is_spread:
            instances.setdefault(id(groups[op]), []).append(op)
    together: dict[object, list[list[Operation]]] = {}
    for members in instances.values():
        members.sort(key=lambda op: (op._device, op.name))
        together.setdefault(_bucket_kind(members, groups, config), []).append(members)
    specs = []
    for alike in together.values():
        for bucket in _filled(sorted(alike, key=lambda members: members[0]._id)):
            group = groups[bucket[0][0]]
            specs.append(
                CollectiveSpec(
                    [op.name for members in bucket for op in members],
                    len(bucket[0]),
                    group.tasks[0] if group.is_whole else _leader(config, leader),
                    group.is_whole,
                    group.is_inside,
                )
            )
    return specs


def _leader(config: ConfigProto, default: str) -> str:
    """Return the task in `ConfigProto.experimental.collective_group_leader`, or the default."""
    named = config.experimental.collective_group_leader
    if not named:
        return default
    spec = DeviceSpec.from_string(named)
    return f"/job:{spec.job}/replica:{spec.replica or 0}/task:{spec.task or 0}"


def _bucket_kind(
    members: Sequence[Operation], groups: Mapping[Operation, CollectiveGroup], config: ConfigProto
) -> object:
    """Return a key of a collective. Collectives with equal keys may share a bucket.

    If a collective must have a bucket to itself, its key is its first member.
    """
    rewrites = config.graph_options.rewrite_options
    is_on = rewrites.scoped_allocator_optimization in (RewriterConfig.ON, RewriterConfig.AGGRESSIVE)
    first = members[0]
    types = rewrites.scoped_allocator_opts.enable_op or ["CollectiveReduce"]
    is_reduction = first.type == "CollectiveReduce" and first.type in types
    if not is_on or not is_reduction or groups[first].is_inside or _size(first) is None:
        return first
    attrs = tuple(
        first.attrs[key] for key in ("group_key", "group_size", "T", "merge_op", "final_op")
    )
    devices = tuple(op._device for op in members)
    return *attrs, devices, tuple(groups[first].tasks), groups[first].is_whole


def _size(op: Operation) -> int | None:
    """Return the size of a reduction in bytes. If the shape of its result is not known, return
    None.
    """
    sizes = op._outputs[0].shape.sizes
    if sizes is None or None in sizes:
        return None
    return prod(size or 0 for size in sizes) * int(op.attrs["T"].itemsize)


def _filled(instances: Sequence[list[Operation]]) -> list[list[list[Operation]]]:
    """Divide collectives, in the order of their creation, into buckets that do not exceed the limit
    of bytes.

    A collective that is itself larger than the limit has a bucket to itself.
    """
    limit = whole_number("GPUGRAPH_COLLECTIVE_BUCKET", "bytes")
    buckets: list[list[list[Operation]]] = []
    left = -1
    for members in instances:
        size = _size(members[0]) or 0
        if not buckets or size > left:
            buckets.append([])
            left = limit
        buckets[-1].append(members)
        left -= size
    return buckets

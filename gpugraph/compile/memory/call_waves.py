"""Waves: sets of calls that run at the same time because one may wait for another.

  depth   0 x  get  |  1 y = 2x  get+1  |  2 put(y)          `get` waits forever
  waves   x  y  |  get  put  |  get+1                        both are called at the same time

Here `get` and `put` are user functions that share a queue. If calls were ordered by depth, `get`
would be called first and wait forever. A wave begins with the ops that depend neither on a call of
this wave nor on a call of a later wave. The calls of the wave follow, all at one depth, because
they do not depend on each other. `compile/steps/concurrent_calls.py` combines the calls of a wave
into one step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.loop_levels import Item
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_registry import find_kernel

I = TypeVar("I", bound=Item)  # noqa: E741 - an item of a level


def calls(unit: Unit) -> set[Item]:
    """Return the calls that are scheduled in waves.

    If several nodes may wait, or if one node may wait for other runs, the result contains all nodes
    that may wait. Otherwise the result is empty. A single call of a user function is ordered by
    depth, like any other op.
    """
    kernel_by_node = dict(_waiting(unit))
    waits_for_runs = any(kernel.gives_up for kernel in kernel_by_node.values())
    return set(kernel_by_node) if len(kernel_by_node) > 1 or waits_for_runs else set()


def may_wait(unit: Unit) -> bool:
    """Return whether a run may wait for other runs or for user functions."""
    return next(_waiting(unit), None) is not None


def _waiting(unit: Unit) -> Iterator[tuple[Node, Call]]:
    """Yield the nodes whose kernels may wait for other runs or user code, with the kernels."""
    kernels: dict[str, Call] = {}
    for node in unit.graph.op_nodes():
        if node.type not in kernels:
            kernels[node.type] = _kernel(node)
        if kernels[node.type].waits:
            yield node, kernels[node.type]


def _kernel(node: Node) -> Call:
    entry = find_kernel(node.type, "CPU", node.attrs)  # ops that may wait run on the host
    kernel = None if entry is None else entry.kernel
    return kernel if isinstance(kernel, Call) else Call()


def followers(unit: Unit) -> Callable[[Node], Iterable[Node]]:
    """Return a function that lists the nodes that depend on a node, including nodes on other
    devices. The graph must have no control flow.
    """
    received = defaultdict(list)
    for send, recv in unit.send_recv_pairs:
        received[send].append(recv)
    return lambda node: [*(edge.dst for edge in node._out if edge.dst.is_op), *received[node]]


def in_waves(
    depth: Mapping[I, int], after: Callable[[I], Iterable[I]], calling: Collection[Item]
) -> dict[I, int]:
    """Return new depths. At the new depths, the calls of a wave come after all ops of the wave that
    are not calls.

    Args:
      depth: the current depth of each item.
      after: a function that returns the items that depend on an item. They must have greater depths
        than the item.
      calling: the items that are calls.
    """
    wave = dict.fromkeys(depth, 0)
    for item in sorted(depth, key=depth.__getitem__):
        beyond = wave[item] + (item in calling)
        for follower in after(item):
            wave[follower] = max(wave[follower], beyond)
    keys = {
        item: (wave[item], item in calling, 0 if item in calling else depth[item]) for item in depth
    }
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
    return {item: ranks[key] for item, key in keys.items()}

"""Sources: ops that return elements of iterators and queues, whose shapes differ from run to run.

    iterator -> get_next  |  the rest, fed with the elements

If a run has such sources, it runs them first. Their results are fed to the rest of the run, which
therefore has plans for these shapes, as for any feeds. The cut is made only where the sources
depend on nothing but constants, feeds and the handles of iterators and queues, and where the rest
has no counter with a limit: a counter at its limit ends a run whose source would wait for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from gpugraph.base.dtypes import HANDLES
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor

SOURCES = frozenset(
    (
        *("IteratorGetNext", "IteratorGetNextSync", "MultiDeviceIteratorGetNextFromShard"),
        *("QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo"),
        *("QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2"),
    )
)
"""The types of sources."""

_LIGHT = frozenset(
    (
        *("Const", "Placeholder", "PlaceholderWithDefault", "Identity", "NoOp"),
        *("IteratorFromStringHandle", "IteratorFromStringHandleV2"),
    )
)
"""Types of ops that may precede a source, besides ops that only return a handle."""

_LIMITED = frozenset(("CountUpTo", "ResourceCountUpTo"))

_SCANNED: WeakKeyDictionary[Graph, tuple[int, bool]] = WeakKeyDictionary()
"""For each graph, how many ops were searched for sources, and whether one was found."""


class SourceRun(NamedTuple):
    """The part of a run that runs first.

    Args:
      feeds: the fed tensors that the sources use.
      fetches: the outputs of sources that the rest of the run uses, or that are fetched.
      targets: the sources without such outputs.
      operations: all sources.
    """

    feeds: tuple[Tensor, ...]
    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    operations: tuple[Operation, ...]


def source_run(
    feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation]
) -> SourceRun | None:
    """Return the part of a run that consists of its sources. Return None if the run has no source
    of unknown shapes, if it consists of sources alone, or if it can't be cut.
    """
    roots = [*(tensor.op for tensor in fetches), *targets]
    if not roots or not _has_sources(roots[0].graph):
        return None
    fed = set(feeds)
    needed = _needed([tensor.op for tensor in fetches if tensor not in fed] + list(targets), fed)
    sources = [op for op in needed if _is_open_source(op)]
    if not sources:
        return None
    before = _needed(sources, fed)
    rest = needed - before
    if not rest or any(op not in sources and not _is_light(op) for op in before):
        return None
    if any(op._op_def.name in _LIMITED for op in rest):
        return None
    used = {tensor for op in rest for tensor in op._inputs}.union(fetches)
    results = tuple(t for op in sources for t in op._outputs if t in used and t not in fed)
    if any(tensor._dtype.base_dtype in HANDLES for tensor in results):
        return None
    used_feeds = {tensor for op in before for tensor in op._inputs} & fed
    fetched = {tensor.op for tensor in results}
    return SourceRun(
        tuple(tensor for tensor in feeds if tensor in used_feeds),
        results,
        tuple(op for op in sources if op not in fetched),
        tuple(sources),
    )


def _has_sources(graph: Graph) -> bool:
    """Return whether a graph has sources. Only ops that were added since the last call are read."""
    count, is_found = _SCANNED.get(graph, (0, False))
    if not is_found and graph.version > count:
        added = graph.get_operations()[count:]
        is_found = not SOURCES.isdisjoint([op._op_def.name for op in added])
        _SCANNED[graph] = count + len(added), is_found
    return is_found


def _needed(roots: Sequence[Operation], fed: Collection[Tensor]) -> set[Operation]:
    """Return the operations that must run for `roots`, including these."""
    seen, stack = set(roots), list(roots)
    while stack:
        for other in _before(stack.pop(), fed):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def _before(op: Operation, fed: Collection[Tensor]) -> Iterator[Operation]:
    for tensor in op._inputs:
        if tensor not in fed:
            yield tensor.op
    yield from op._control_inputs


def _is_open_source(op: Operation) -> bool:
    return (
        op.type in SOURCES
        and op._control_flow_context is None
        and not all(tensor.shape.is_fully_defined() for tensor in op._outputs)
    )


def _is_light(op: Operation) -> bool:
    returns_handle = op._outputs and all(t._dtype.base_dtype in HANDLES for t in op._outputs)
    is_light = op.type in _LIGHT or (returns_handle and not op._inputs)
    return bool(is_light) and op._control_flow_context is None

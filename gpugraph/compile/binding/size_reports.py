"""Sizes that kernels report in a run. These sizes divide the run into stages. At the start of each
stage, more sizes are known.

    order      a   where   b   |   gather   c   unique   |   d
    known      fed sizes           size of where             size of unique
    memory     the buffers of a stage are above the buffers of earlier stages

A run of a plan starts with the sizes that were reported in the previous run. If a kernel reports
another size, the words of the remaining instructions are written again before the first instruction
that needs the size. Until then the run has had no effect, so it can still begin again with another
plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import Size, SizeTrace
from gpugraph.compile.analysis.counted_rows import counted_rows, counting_node
from gpugraph.compile.analysis.growing_variables import is_in_each_iteration
from gpugraph.compile.binding.loop_sizes import (
    GrowingLoop,
    NotReportedError,
    around,
    growing_loops,
    span,
)
from gpugraph.compile.unit.compile_unit import Storage, Unit
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.kernel import RowSource
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_HARMLESS = {
    *("Assert", "VarHandleOp", "ReadVariableOp", "VariableV2", "VarIsInitializedOp"),
    *("HashTableV2", "MutableHashTableV2", "LookupTableFindV2", "LookupTableSizeV2"),
    *("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3"),
    *("TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3", "TensorArraySizeV3"),
    *("TensorArrayGradV3", "TensorArrayCloseV3", "_LoopEnd"),
    *("StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"),
}
"""Stateful ops that may run twice. The containers of a run that begins again are dropped."""

_DRAWING = {
    *("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt"),
    *("RandomGamma", "RandomPoisson", "RandomPoissonV2", "Multinomial", "RandomShuffle"),
}
"""Stateful ops whose only effect is that their stream advances. If a run begins again, they return
to the position at which it began.
"""


class Report(NamedTuple):
    """A node whose kernel reports sizes.

    Args:
      names: for each number that the kernel counts, the names of the sizes that have this value.
        There are several names if equal nodes were merged into this node.
    """

    node: Node
    names: Sequence[Sequence[str]]

    @property
    def all_names(self) -> set[str]:
        """The names of all sizes that the kernel reports."""
        return {name for names in self.names for name in names}


class Flush(NamedTuple):
    """A position in the order of nodes where words are written, and the reports on which these
    words depend. There are none at the end of a loop whose variables grow.
    """

    position: int
    reports: Sequence[Report]


class Reports:
    """The reports of a unit. The constructor raises NotReportedError if the unit has no usable
    report.

    Attributes:
      drawing: the names of the nodes that draw random numbers before the last report is written.
      loops: the loops whose variables have sizes that differ between iterations, by the name of
        the node that decides whether the loop continues.
      loop_ends: for these loops and all loops around them, by the same name, the position after the
        loop.
    """

    def __init__(self, unit: Unit, trace: SizeTrace) -> None:
        self.unit, self._trace = unit, trace
        self._by_node = _reports(unit, trace)
        loops = growing_loops(unit, trace)
        for report in self._by_node.values():
            if around(unit, report.node) and not _runs_always(unit, report.node):
                raise NotReportedError(f"'{report.node.name}' does not run in each iteration")
        self.loops = {loop.condition: loop for loop in loops}
        self.loop_ends = {
            frame.loop_cond.name: span(unit, frame)[1]
            for node in (*(loop.merge for loop in loops), *(r.node for r in self._by_node.values()))
            for frame in around(unit, node)
            if frame.loop_cond is not None
        }
        self._written = {  # by storage, the names with whose flush its tensor is written
            id(unit.homes[node, slot].storage): report.all_names
            for node, report in self._by_node.items()
            for rows in counted_rows(report.node)
            for slot in rows.slots
            if (node, slot) in unit.homes
        }
        self.flushes = list(self._flushes())
        self.drawing: list[str] = []
        self._check_effects()

    def part_of(self, storage: Storage) -> int:
        """Return the number of the stage in which a buffer gets its memory. This is the number of
        flushes (positions at which words are written) that must precede the use of the buffer. A
        flush must come first if it writes the buffer's size, or if the tensor is computed after it.
        """
        names = self._names([storage.size])
        part = 0
        for number, flush in enumerate(self.flushes):
            is_named = any(not names.isdisjoint(report.all_names) for report in flush.reports)
            if flush.position <= storage.first or is_named:
                part = number + 1
        return part

    def _flushes(self) -> Iterator[Flush]:
        pending: dict[str, Report] = {}
        known: set[str] = set()
        is_next = False  # whether the report must be flushed before any other node
        begins = {loop.begin: loop for loop in self.loops.values()}
        heads = {loop.head: loop for loop in self.loops.values()}
        ends = set(self.loop_ends.values())
        for position, node in enumerate(self.unit.order):
            if position in ends:
                yield Flush(position, [])
            if position in begins:
                if pending:
                    yield Flush(position, _distinct(pending))
                    pending = {}
                known.update(begins[position].first)
            if position in heads:
                yield Flush(position, [_loop_report(heads[position])])
            needs = self._needs(node)
            if not known.issuperset(needs):
                raise NotReportedError(f"'{node.name}' ({node.type}) runs before the report")
            if pending and (is_next or not needs.isdisjoint(pending)):
                yield Flush(position, _distinct(pending))
                pending = {}
            report = self._by_node.get(node.id)
            if report is not None:
                pending |= dict.fromkeys(report.all_names, report)
                known.update(report.all_names)
                is_next = self.unit.flow is not None or _is_counted_first(node)
        if pending:
            yield Flush(len(self.unit.order), _distinct(pending))
        elif len(self.unit.order) in ends:
            yield Flush(len(self.unit.order), [])

    def _needs(self, node: Node) -> set[str]:
        """Return the names of all reported sizes that must be known before a node runs. These are
        the sizes on which the node's tensors or attrs depend, and the sizes that are reported by
        the kernels of its inputs.
        """
        homes, values = self.unit.homes, list(node.attrs.values())
        keys = [(node.id, slot) for slot in range(len(node.output_types))]
        writers: set[str] = set()
        for edge in node._in:
            if edge.dst_input >= 0:
                key = edge.src.id, edge.src_output
                keys.append(key)
                if key in homes:
                    writers |= self._written.get(id(homes[key].storage), set())
                if edge.src.is_constant:
                    values += edge.src.attrs.values()
        values += [homes[key].shape for key in keys if key in homes]
        report = self._by_node.get(node.id)
        reported = set() if report is None else report.all_names  # known with its report
        return (self._names(sizes_in(values)) - reported) | writers

    def _names(self, sizes: Iterable[Any]) -> set[str]:
        return {name for size in sizes for name in self._trace.reports_in(size)}

    def _check_effects(self) -> None:
        """Raise NotReportedError if a node has a side effect and runs before the last position at
        which words are written.
        """
        reports = [report for flush in self.flushes for report in flush.reports]
        names = {name for report in reports for name in report.all_names}
        unused = self._trace.loop_sizes - names  # nothing depends on them (`_flushes`)
        if not reports or not names.issuperset(self._trace.report_names - unused):
            raise NotReportedError("no kernel reports a size")
        for node in self.unit.order[: self.flushes[-1].position]:
            decl = DECLARATIONS.get(node.type)
            writes = decl is not None and bool(decl.memory.writes)
            acts = node.op_def.is_stateful and node.node_class is NodeClass.OTHER
            if acts and node.type in _DRAWING:
                self.drawing.append(node.name)
            elif writes or (acts and node.type not in _HARMLESS):
                raise NotReportedError(f"'{node.name}' ({node.type}) has an effect before")


def _reports(unit: Unit, trace: SizeTrace) -> Mapping[int, Report]:
    """Return the `Report` of each node whose kernel reports sizes, by the node's id."""
    live = {node.name: node for node in unit.order if node.id in unit.reported}
    names: dict[str, list[str]] = {}
    for name in trace.report_names:
        known = counting_node(name)
        suffix = name[len(known) :]
        while known not in live and known in unit.absorbed:
            known = unit.absorbed[known].by
        if known in live:
            names.setdefault(known + suffix, []).append(name)
    return {
        node.id: Report(node, [names[name + rows.suffix] for rows in counted_rows(node)])
        for name, node in live.items()
        if any(name + rows.suffix in names for rows in counted_rows(node))
    }


def _runs_always(unit: Unit, node: Node) -> bool:
    return unit.flow is not None and is_in_each_iteration(unit.flow, node)


def _loop_report(loop: GrowingLoop) -> Report:
    return Report(loop.merge, [[name] for name in loop.first])


def _distinct(pending: Mapping[str, Report]) -> list[Report]:
    return list({report.node.id: report for report in pending.values()}.values())


def _is_counted_first(node: Node) -> bool:
    """Return whether native code counts a node's rows in a separate call, before it computes them.
    The node's inputs must remain valid until the second call.
    """
    declaration = DECLARATIONS.get(node.type)
    native = None if declaration is None else declaration.native
    return isinstance(native, RowSource) and bool(native.counter)


def sizes_in(value: Any) -> Iterator[Size]:
    """Yield the Sizes in a nested value."""
    if type(value) is Size:
        yield value
    elif isinstance(value, TensorShape):
        yield from sizes_in(value.sizes)
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            yield from sizes_in(list(value.flat))
    elif isinstance(value, Mapping):
        yield from sizes_in(list(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from sizes_in(item)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from sizes_in([getattr(value, field.name) for field in fields(value)])

"""Binding of native calls to open sizes, which are `Size` objects in place of numbers."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.sizes import is_open
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.steps.compiled_stretch import MemberStep
from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.compile.steps.kernel_context import BoundNode
from gpugraph.compile.steps.native_node_code import Candidate, compile_pieces, translate
from gpugraph.compile.steps.tensor_moves import Move, target_of
from gpugraph.compile.unit.compile_unit import Home, TensorId
from gpugraph.compile.unit.unit_sizes import OpenParts
from gpugraph.devices.native import Address, NotNativeError, OpenCall, OpenView, sequence
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Run


class OpenBinder(Binder):
    """A binder of native calls to views with open sizes. `of` creates it from the binder of the
    plan.

    Args:
      constants: maps the id of a constant node whose value contains sizes to the array with its
        current value.
      asides: maps a tensor to its side buffer.
      open_nodes: the ids of the nodes whose attrs contain sizes.
    """

    plain: Binder
    open_nodes: Set[int]
    constants: dict[int, Any]
    asides: dict[TensorId, Home]

    @classmethod
    def of(cls, binder: Binder, parts: OpenParts) -> OpenBinder:
        """Return an open binder for the unit of `parts`. The caller must bind the plan with
        `binder` first.
        """
        unit = parts.unit
        opened = cls.__new__(cls)
        opened.__dict__.update(binder.__dict__, unit=unit, entries=[], arrays={})
        opened.plain, opened.open_nodes = binder, parts.open_nodes
        opened.constants, opened.asides = {}, {}
        return opened

    def array(self, home: Home) -> Any:
        """Return the view of a tensor. Tensors with the same memory share one view."""
        key = (id(home.storage), home.shape, home.dtype, home.start)
        if key not in self.arrays:
            self.arrays[key] = self._make_view(home)
        return self.arrays[key]

    def views(self, args: Move) -> tuple[Any, Any] | None:
        """Return the source view and the target view of a copy. If the copy uses a side buffer of
        unknown size, return None.
        """
        (source, _), (target, home) = args.source, args.target
        homes = self.unit.homes
        if source not in homes and source not in self.asides:
            return None
        source_home = homes[source] if source in homes else self.asides[source]
        if target not in homes:
            if home.storage.kind != "aside" or source_home.shape is None:
                return None
            size = prod(source_home.shape) * home.dtype.itemsize
            storage = replace(home.storage, size=size)
            self.asides[target] = Home(storage, source_home.shape, home.dtype)
        target_home = homes[target] if target in homes else self.asides[target]
        target_home = target_of(source_home, target_home)
        try:
            return self.array(source_home), self.array(target_home)
        except NotNativeError:
            return None

    def bound_node(self, node: Node) -> BoundNode:
        """Return the node together with its kernel. The node must not use variables."""
        return self._bound_node(node, self.unit.kernel(node), {})

    def is_lasting(self, node: Node) -> bool:
        """Return whether the node's step is the same for all sizes, because it uses neither memory
        of the arena nor a constant that contains sizes.
        """
        homes = self.unit.homes
        keys = [(edge.src.id, edge.src_output) for edge in node._in if edge.dst_input >= 0]
        keys += [(node.id, slot) for slot in range(len(node.output_types))]
        is_closed = node.id not in self.open_nodes
        return is_closed and all(key in homes and self._is_closed(homes[key]) for key in keys)

    def _is_closed(self, home: Home) -> bool:
        storage, shape = home.storage, home.shape
        if storage.kind not in ("object", "constant", "variable") or shape is None:
            return False
        is_closed = storage.node is None or storage.node.id not in self.open_nodes
        return is_closed and not is_open(shape)

    def _make_view(self, home: Home) -> Any:
        storage, shape, dtype, start = home
        if shape is None:
            raise NotNativeError("a tensor of unknown shape")
        if storage.kind == "object":
            return self.plain.array(home)
        numpy_type = dtype.as_numpy_dtype
        if storage.kind in ("arena", "aside"):
            return OpenView.whole(Address(storage, start), shape, numpy_type)
        if storage.kind == "constant" and is_open(_constant(storage.node).flat):
            assert storage.node is not None
            if is_open(shape):
                raise NotNativeError("a constant of open shape")
            kept = self.constants.setdefault(storage.node.id, np.empty(shape, numpy_type))
            return OpenView.whole(Address(0, kept.ctypes.data), shape, numpy_type)
        if storage.kind not in ("constant", "variable"):
            raise NotNativeError(f"a tensor in {storage.kind} memory")
        array = self.plain.array(home)
        return OpenView.whole(Address(0, array.ctypes.data), array.shape, numpy_type)

    def open_calls(self, node: Node, member: MemberStep) -> list[OpenCall]:
        """Return the calls of a native step, bound to views with open sizes.

        Raises NotNativeError or another error if the step's calls can't be bound to open sizes.
        """
        before = len(self.entries)
        candidate = self.candidate(node)
        del self.entries[before:]  # guards of variables, which the plan has
        if candidate is None:
            raise NotNativeError("it has no native form with open sizes")
        piece = translate(_OpenCandidate(*candidate))
        code = None if member.code is None else member.code.get()
        calls = piece.bind(code).calls
        if not all(isinstance(call, OpenCall) for call in calls):
            raise NotNativeError("a call is bound to arrays")
        return list(calls)  # type: ignore[arg-type]


def _constant(node: Node | None) -> Any:
    assert node is not None
    return node.attrs["value"]


class _OpenCandidate(Candidate):
    """The data for compiling a step with open sizes to native code. It has no memory for copies of
    the step's arrays.
    """

    __slots__ = ()

    def new_array(self, number: int, shape: tuple[int, ...], dtype: Any) -> Any:
        raise NotNativeError("a copy of an array in another layout")


def run_of(binder: Binder, node: Node, key: tuple[str, str]) -> Run:
    """Bind a single node, and return the callable of the step with the key `key`."""
    for entry in _entries(binder, node):
        if (entry.step.kind, entry.step.part) == key:
            return entry.step.run
    raise AssertionError(f"'{node.name}' has the same steps for all sizes")


def bound_call(binder: Binder, node: Node) -> Run | None:
    """Return the native call of a node for one set of sizes, or None if there is none for these
    sizes.
    """
    candidates = [entry.native for entry in _entries(binder, node) if entry.native is not None]
    if not candidates:
        return None
    try:
        piece = translate(candidates[0])
        [code] = compile_pieces([piece])
        function = None if code is None else code.get(binder.jit.waits)
        if code is not None and function is None:
            return None
        calls = piece.bind(function).calls
    except NotNativeError:
        return None
    return calls[0] if len(calls) == 1 else sequence(calls)


def _entries(binder: Binder, node: Node) -> list[GuardedStep]:
    """Find the node with the same id as `node` in the binder's unit, and bind it. Return the steps
    that binding has added.
    """
    before = len(binder.entries)
    binder.visit(binder.unit.order[binder.positions[node.id]])
    entries = binder.entries[before:]
    del binder.entries[before:]
    return entries

"""A compiled unit with open sizes, as a unit of one set of values of these sizes.

    unit (homes, constants, attrs with Sizes) + values  ->  a unit that `bind` takes

The passes have run once, for all values that meet the conditions of the unit's trace. For each set
of values there remain the sizes of buffers, their offsets in the arena, and binding. Nodes, their
order, the storages that tensors share and everything else are the same.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import Size, SizeValues, has_open_sizes
from gpugraph.compile.unit.compile_unit import Home, Storage, Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.fusion.member_memory import Layout


class OpenParts:
    """The parts of a unit that contain Sizes, so that the rest is shared by all sets of values."""

    def __init__(self, unit: Unit, values: SizeValues) -> None:
        """values: any values of the unit's sizes."""
        resolver = Resolver(values)
        self.unit = unit
        self.nodes = [node for node in unit.order if resolver.node(node) is not node]
        self.shapes = [key for key, shapes in unit.shapes.items() if resolver.is_open(shapes)]
        self.values = [key for key, value in unit.values.items() if resolver.is_open(value)]

    def at(self, values: SizeValues) -> Unit:
        """Return the unit for these values of its open sizes, without the offsets in arenas."""
        unit, resolver = self.unit, Resolver(values)
        nodes = {node.id: resolver.node(node) for node in self.nodes}
        feeds = [feed._replace(shape=resolver.of(feed.shape)) for feed in unit.feeds]
        key = unit.key._replace(feeds=tuple((feed.name, feed.shape) for feed in feeds))
        types = {node.id: node.output_types for node in unit.order}
        resolved = copy.copy(unit)
        resolved.__dict__.pop("device_types", None)
        resolved.key, resolved.feeds = key, feeds
        resolved.order = [nodes.get(node.id, node) for node in unit.order]
        resolved.args = [nodes.get(node.id, node) for node in unit.args]
        resolved.retvals = [nodes.get(node.id, node) for node in unit.retvals]
        pairs = unit.send_recv_pairs
        resolved.send_recv_pairs = [(nodes.get(a.id, a), nodes.get(b.id, b)) for a, b in pairs]
        resolved.shapes = unit.shapes | {id: resolver.of(unit.shapes[id]) for id in self.shapes}
        resolved.values = unit.values | {
            key: resolver.value(unit.values[key], types.get(key[0], ()), key[1])
            for key in self.values
        }
        resolved.homes = {key: resolver.home(home) for key, home in unit.homes.items()}
        resolved.storages = [resolver.storage(storage) for storage in unit.storages]
        resolved.transfers = resolver.of(unit.transfers)
        resolved.arena_sizes, resolved.reports = dict(unit.arena_sizes), list(unit.reports)
        return resolved


class Resolver:
    """Replaces Sizes by their values, in copies of the objects that contain some."""

    def __init__(self, values: SizeValues) -> None:
        self._values = values
        self._known: dict[int, tuple[Any, Any]] = {}  # by id: the object, and its copy

    def of(self, value: Any) -> Any:
        """Return a value, or a copy of it if it contains Sizes."""
        kind = type(value)
        if kind is Size:
            return self._values.of(value)
        rule: Any = _RULES.get(kind)
        if rule is None and isinstance(value, tuple):
            rule = Resolver._named_tuple
        if rule is None and not is_dataclass(value):
            return value
        known = self._known.get(id(value))
        if known is None:
            resolved = (rule or Resolver._dataclass)(self, value)
            known = self._known[id(value)] = value, resolved
        return known[1]

    def node(self, node: Node) -> Node:
        """Return a node, or a copy with other attrs."""
        attrs = self.of(node.attrs)
        if attrs is node.attrs:
            return node
        resolved = copy.copy(node)
        resolved.attrs = attrs
        if node.is_constant:
            attrs["value"] = attrs["value"].astype(node.output_types[0].as_numpy_dtype)
            attrs["value"].setflags(write=False)
        self._known[id(node)] = node, resolved
        return resolved

    def storage(self, storage: Storage) -> Storage:
        """Return a storage of this unit."""
        known = self._known.get(id(storage))
        if known is None:
            resolved = copy.copy(storage)
            resolved.size = self.of(storage.size)
            if storage.node is not None:
                resolved.node = self._known.get(id(storage.node), (None, storage.node))[1]
            known = self._known[id(storage)] = storage, resolved
        return known[1]

    def home(self, home: Home) -> Home:
        """Return the home of a tensor."""
        storage, shape, dtype = home
        return Home(self.storage(storage), self.of(shape), dtype)

    def value(self, value: Any, types: Sequence[DType], slot: int) -> Any:
        """Return the constant value of output `slot` of a node with these output types."""
        array = self._array(value)
        return array.astype(types[slot].as_numpy_dtype) if types else array

    def is_open(self, value: Any) -> bool:
        """Return whether a value contains Sizes."""
        return self.of(value) is not value

    def _items(self, value: Any) -> Any:
        items = [self.of(item) for item in value]
        return value if all(map(_is_same, items, value)) else type(value)(items)

    def _named_tuple(self, value: Any) -> Any:
        items = [self.of(item) for item in value]
        return value if all(map(_is_same, items, value)) else type(value)(*items)

    def _dict(self, value: Mapping[Any, Any]) -> Any:
        items = {key: self.of(item) for key, item in value.items()}
        return value if all(map(_is_same, items.values(), value.values())) else items

    def _shape(self, shape: TensorShape) -> TensorShape:
        sizes = self.of(shape.sizes)
        return shape if sizes is shape.sizes else TensorShape.of(sizes)

    def _array(self, array: Any) -> Any:
        if not has_open_sizes(array):
            return array
        resolved = np.array([self.of(item) for item in array.flat], np.int64)
        return resolved.reshape(array.shape)

    def _layout(self, layout: Layout) -> Layout:
        resolved = Layout()
        resolved.in_place = layout.in_place
        return resolved

    def _dataclass(self, value: Any) -> Any:
        changed = {}
        for field in fields(value):
            item = getattr(value, field.name)
            resolved = self.of(item)
            if resolved is not item:
                changed[field.name] = resolved
        return replace(value, **changed) if changed else value


def _is_same(one: Any, other: Any) -> bool:
    return one is other


_RULES = {
    tuple: Resolver._items,
    list: Resolver._items,
    dict: Resolver._dict,
    TensorShape: Resolver._shape,
    np.ndarray: Resolver._array,
    Layout: Resolver._layout,
}

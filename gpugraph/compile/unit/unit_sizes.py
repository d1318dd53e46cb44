"""Resolution of open sizes: from a compiled unit with open sizes to a unit in which these sizes
have values.

    unit (homes, constants, attrs with Sizes) + values  ->  a unit that `bind` takes

The passes run once, for all values that meet the conditions of the unit's trace. For each set of
values only the sizes of buffers, their offsets in the arena and the binding are computed again. The
nodes, their order and the storages that tensors share are the same for all.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import Size, SizeValues, has_open_sizes
from gpugraph.compile.unit.compile_unit import Home, Storage, TensorId, Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.fusion.member_memory import Layout


class OpenParts:
    """The parts of a unit that contain Sizes. All other parts are shared by the plans for all sets
    of values.

    Sizes and offsets of buffers and shapes of tensors are computed for each set of values. Attrs of
    nodes and inferred shapes, which binding rarely reads, are computed on first access.
    """

    def __init__(self, unit: Unit, values: SizeValues) -> None:
        """values: any values of the unit's sizes."""
        is_open = Resolver(values).is_open
        self.unit = unit
        self._attrs = {
            node: {key for key, value in node.attrs.items() if is_open(value)}
            for node in unit.order
        }
        self._attrs = {node: keys for node, keys in self._attrs.items() if keys}
        self._shapes = {key for key, shapes in unit.shapes.items() if is_open(shapes)}
        self._values = {key for key, value in unit.values.items() if is_open(value)}
        self._types = {node.id: node.output_types for node in unit.order}
        storages = {id(home.storage): home.storage for home in unit.homes.values()}
        self._storages = [
            storage
            for storage in storages.values()
            if storage.kind == "arena" or storage.node in self._attrs or is_open(storage.size)
        ]
        numbers = {id(storage): number for number, storage in enumerate(self._storages)}
        self._arena = [numbers[id(storage)] for storage in unit.storages]
        self._homes = [
            (key, numbers.get(id(home.storage)), is_open(home.shape))
            for key, home in unit.homes.items()
            if id(home.storage) in numbers or is_open(home.shape)
        ]

    def at(self, values: SizeValues) -> Unit:
        """Return the unit for these values of its open sizes. Its offsets in arenas are not set
        yet.
        """
        unit, resolver = self.unit, Resolver(values)
        nodes = {node.id: resolver.node(node, keys) for node, keys in self._attrs.items()}
        resolved = copy.copy(unit)
        resolved.feeds = [feed._replace(shape=resolver.of(feed.shape)) for feed in unit.feeds]
        feeds = tuple([(feed.name, feed.shape) for feed in resolved.feeds])
        resolved.key = unit.key._replace(feeds=feeds)
        resolved.order = [nodes.get(node.id, node) for node in unit.order]
        resolved.args = [nodes.get(node.id, node) for node in unit.args]
        resolved.retvals = [nodes.get(node.id, node) for node in unit.retvals]
        pairs = unit.send_recv_pairs
        resolved.send_recv_pairs = [(nodes.get(a.id, a), nodes.get(b.id, b)) for a, b in pairs]
        resolved.shapes = _ResolvedLater(
            unit.shapes, self._shapes, lambda _, shapes: resolver.of(shapes)
        )
        resolved.values = _ResolvedLater(unit.values, self._values, partial(self._value, resolver))
        resolved.programs = {
            id: program._replace(sizes=resolver.of(program.sizes))
            for id, program in (unit.programs or {}).items()
        }
        self._place(resolved, values, nodes)
        resolved.transfers = resolver.of(unit.transfers)
        resolved.arena_sizes, resolved.reports = dict(unit.arena_sizes), list(unit.reports)
        return resolved

    def _value(self, resolver: Resolver, key: TensorId, value: Any) -> Any:
        """Return the constant value of a tensor."""
        return resolver.value(value, self._types.get(key[0], ()), key[1])

    def _place(self, resolved: Unit, values: SizeValues, nodes: Mapping[int, Node]) -> None:
        """Set the storages and homes of the resolved unit."""
        storages = [
            Storage(
                *(old.kind, old.device, values.of(old.size), old.first, old.last, old.owner, 0),
                old.node and nodes.get(old.node.id, old.node),
            )
            for old in self._storages
        ]
        resolved.storages = [storages[number] for number in self._arena]
        resolved.homes = homes = dict(self.unit.homes)
        for key, number, is_open in self._homes:
            storage, shape, dtype = homes[key]
            if number is not None:
                storage = storages[number]
            homes[key] = Home(storage, values.shape(shape) if is_open and shape else shape, dtype)


class _ResolvedLater(dict[Any, Any]):
    """A dict in which the values of `keys` contain Sizes, which are resolved when a value is first
    read.
    """

    def __init__(
        self, values: Mapping[Any, Any], keys: Set[Any], resolve: Callable[[Any, Any], Any]
    ) -> None:
        """resolve: a function from a key and its value to the value without Sizes."""
        super().__init__(values)
        self._pending = set(keys)
        self._resolve = resolve

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if key in self._pending:
            value = self[key] = self._resolve(key, value)
            self._pending.discard(key)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self._pending else super().get(key, default)

    def items(self) -> Any:
        for key in list(self._pending):
            self[key]
        return super().items()


class Resolver:
    """Replaces Sizes by their values, in copies of the objects that contain Sizes."""

    def __init__(self, values: SizeValues) -> None:
        self._values = values
        self._known: dict[int, tuple[Any, Any]] = {}  # by id: the object, and its copy

    def of(self, value: Any) -> Any:
        """Return a value unchanged, or a copy with the Sizes replaced if it contains some."""
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

    def node(self, node: Node, keys: Set[str]) -> Node:
        """Return a copy of a node in which Sizes in the attrs `keys` are replaced by their
        values.
        """
        if node.is_constant:
            array = self.value(node.attrs["value"], node.output_types, 0)
            array.setflags(write=False)
            return node.with_attrs({**node.attrs, "value": array})
        return node.with_attrs(_ResolvedLater(node.attrs, keys, lambda _, value: self.of(value)))

    def value(self, value: Any, types: Sequence[DType], slot: int) -> Any:
        """Return the constant value of output `slot` of a node whose output types are `types`."""
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

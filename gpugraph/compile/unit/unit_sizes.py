"""Resolution of open sizes: from a compiled unit with open sizes to a unit in which these sizes
have values.

    unit (homes, constants, attrs with Sizes) + values  ->  a unit that `bind` accepts

The passes run once, for all values that meet the conditions of the unit's trace. For each set of
values, only the sizes of buffers, their offsets in the arena and the binding are computed again.
The nodes, their order and the assignment of tensors to storages are the same for all sets.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import Size, SizeValues, has_open_sizes
from gpugraph.compile.unit.compile_unit import Home, Storage, TensorId, Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.fusion.member_memory import MemoryLayout


class OpenParts:
    """The parts of a unit that contain Sizes. All other parts are shared by the plans for all sets
    of values.

    The sizes and offsets of buffers and the shapes of tensors are computed for each set of values.
    Attrs of nodes and inferred shapes, which binding rarely reads, are computed when they are first
    accessed.
    """

    def __init__(self, unit: Unit, values: SizeValues) -> None:
        """Find the parts of the unit that contain Sizes.

        Args:
          values: any values of the unit's sizes.
        """
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
        self._ids = [node.id for node in unit.order]
        others = [*unit.args, *unit.retvals, *(s.node for s in self._storages if s.node)]
        others += [node for pair in unit.send_recv_pairs for node in pair]
        self._nodes = {node.id: node for node in (*others, *unit.order)}
        self._open = {node.id for node in self._attrs}
        numbers = {id(storage): number for number, storage in enumerate(self._storages)}
        self._arena = [numbers[id(storage)] for storage in unit.storages]
        self._homes = {
            key: (numbers.get(id(home.storage)), is_open(home.shape))
            for key, home in unit.homes.items()
            if id(home.storage) in numbers or is_open(home.shape)
        }

    @property
    def open_nodes(self) -> Set[int]:
        """The nodes whose attrs contain Sizes."""
        return self._open

    @property
    def arena_sizes(self) -> Sequence[Any]:
        """The sizes of the buffers in the arena. A size may be open."""
        return [self._storages[number].size for number in self._arena]

    def at(self, values: SizeValues) -> Unit:
        """Return the unit with these values of its open sizes. The offsets of this unit's arenas
        are not set yet.
        """
        storages = [values.of(storage.size) for storage in self._storages]
        resolved, storage_of = self._resolved(values, storages)
        resolved.storages = [storage_of(number) for number in self._arena]
        return resolved

    def laid_out(self, values: SizeValues, sizes: Sequence[int], offsets: Sequence[int]) -> Unit:
        """Return the unit with these values of its open sizes.

        Args:
          sizes, offsets: the sizes and offsets of the buffers in the arena. The unit's list of
            buffers remains empty.
        """
        known = [0] * len(self._storages)
        places = [0] * len(self._storages)
        for number, size, offset in zip(self._arena, sizes, offsets):
            known[number], places[number] = size, offset
        resolved, _ = self._resolved(values, known, places)
        resolved.storages = []
        return resolved

    def _resolved(
        self, values: SizeValues, sizes: Sequence[int], offsets: Sequence[int] | None = None
    ) -> tuple[Unit, Callable[[int], Storage]]:
        """Return the unit, whose parts are resolved when they are first accessed, and a function
        that returns the storage with a given number.
        """
        unit, resolver = self.unit, Resolver(values)
        nodes = _ResolvedLater(
            self._nodes, self._open, lambda id, node: resolver.node(node, self._attrs[node])
        )
        storages: dict[int, Storage] = {}

        def storage_of(number: int) -> Storage:
            if number not in storages:
                old = self._storages[number]
                node = old.node and nodes[old.node.id]
                offset = 0 if offsets is None else offsets[number]
                storages[number] = Storage(
                    *(old.kind, old.device, sizes[number], old.first, old.last, old.owner),
                    *(offset, node),
                )
            return storages[number]

        def home_of(key: TensorId, home: Home) -> Home:
            number, is_open = self._homes[key]
            storage = home.storage if number is None else storage_of(number)
            shape = values.shape(home.shape) if is_open and home.shape else home.shape
            return Home(storage, shape, home.dtype, home.start)

        resolved = copy.copy(unit)
        resolved.open_nodes = self._open
        resolved.feeds = [feed._replace(shape=resolver.of(feed.shape)) for feed in unit.feeds]
        feeds = tuple([(feed.name, feed.shape) for feed in resolved.feeds])
        resolved.key = unit.key._replace(feeds=feeds)
        resolved.order = _Nodes(self._ids, nodes)  # type: ignore[assignment]
        resolved.args = [nodes[node.id] for node in unit.args]
        resolved.retvals = [nodes[node.id] for node in unit.retvals]
        pairs = unit.send_recv_pairs
        resolved.send_recv_pairs = [(nodes[a.id], nodes[b.id]) for a, b in pairs]
        resolved.shapes = _ResolvedLater(
            unit.shapes, self._shapes, lambda _, shapes: resolver.of(shapes)
        )
        resolved.values = _ResolvedLater(unit.values, self._values, partial(self._value, resolver))
        programs = unit.programs or {}
        resolved.programs = _ResolvedLater(
            programs, programs.keys(), lambda _, p: p._replace(sizes=resolver.of(p.sizes))
        )
        resolved.homes = _ResolvedLater(unit.homes, self._homes.keys(), home_of)
        resolved.transfers = resolver.of(unit.transfers)
        resolved.arena_sizes, resolved.reports = dict(unit.arena_sizes), list(unit.reports)
        return resolved, storage_of

    def _value(self, resolver: Resolver, key: TensorId, value: Any) -> Any:
        """Return the constant value of a tensor."""
        return resolver.value(value, self._types.get(key[0], ()), key[1])


class _Nodes(Sequence[Node]):
    """A sequence of nodes, each of which is resolved when it is first accessed."""

    def __init__(self, ids: Sequence[int], nodes: Mapping[int, Node]) -> None:
        self._ids, self._nodes = ids, nodes

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._nodes[id] for id in self._ids[index]]
        return self._nodes[self._ids[index]]


class _ResolvedLater(dict[Any, Any]):
    """A view of a dict. The values under `keys` contain Sizes, and are resolved when they are first
    read.
    """

    def __init__(
        self, values: Mapping[Any, Any], keys: Set[Any], resolve: Callable[[Any, Any], Any]
    ) -> None:
        """Create the view.

        Args:
          resolve: a function that receives a key and a value, and returns the value without Sizes.
        """
        super().__init__()
        self._base, self._open, self._resolve = values, keys, resolve

    def __missing__(self, key: Any) -> Any:
        value = self._base[key]
        if key in self._open:
            value = self[key] = self._resolve(key, value)
        return value

    def __contains__(self, key: Any) -> bool:
        return key in self._base

    def __iter__(self) -> Iterator[Any]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self._base else default

    def keys(self) -> Any:
        return self._base.keys()

    def items(self) -> Any:
        return [(key, self[key]) for key in self._base]

    def values(self) -> Any:
        return [self[key] for key in self._base]


class Resolver:
    """An object that copies objects with Sizes and replaces the Sizes by their values."""

    def __init__(self, values: SizeValues) -> None:
        self._values = values
        self._known: dict[int, tuple[Any, Any]] = {}  # by id: the object, and its copy

    def of(self, value: Any) -> Any:
        """Return a copy of a value with all Sizes replaced. If the value contains no Sizes, return
        the value itself.
        """
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
        """Return a copy of a node in which the Sizes in the attrs `keys` are replaced by their
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

    def _layout(self, layout: MemoryLayout) -> MemoryLayout:
        resolved = MemoryLayout()
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
    MemoryLayout: Resolver._layout,
}

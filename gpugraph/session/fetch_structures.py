"""The structures of fetches. Nested lists, tuples, named tuples and dicts are flattened to tensors,
and rebuilt from the tensors' values.

Leaves are tensors, operations, variables, names, IndexedSlices or SparseTensors. If a leaf occurs
twice, it is computed once, and both positions have the same object.
`register_session_run_conversion_functions` adds other types.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.errors import InaccessibleTensorError
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.indexed_slices import IndexedSlices, IndexedSlicesValue
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue

Expansion = Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]]
Rebuild = Callable[[Sequence[Any]], Any]
FeedConversion = Callable[[Any, Any], Sequence[tuple[Any, Any]]]
FeedParts = Callable[[Any], Sequence[Any]]


class _Conversion(NamedTuple):
    """The functions that fetch and feed values of a registered type."""

    tensor_type: type
    fetch: Expansion
    feed: FeedConversion | None
    feed_parts: FeedParts | None


_CONVERSIONS: list[_Conversion] = []


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Expansion,
    feed_function: FeedConversion | None = None,
    feed_function_for_partial_run: FeedParts | None = None,
) -> None:
    """Make objects of `tensor_type` fetchable. If `feed_function` is not None, also make them
    feedable.

    Raises ValueError if the type, or a type derived from it, is already registered.

    Args:
      fetch_function: a function that receives an object x. It returns the leaves to fetch, and a
        function that computes the value of x from the list of the leaves' values.
      feed_function: a function that receives x and a value, and returns the (tensor, value) pairs
        to feed.
      feed_function_for_partial_run: a function that receives x and returns its tensors. It is
        required to feed x in a partial run.
    """
    for known in _CONVERSIONS:
        if issubclass(known.tensor_type, tensor_type):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _CONVERSIONS.insert(
        0, _Conversion(tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    )


register_session_run_conversion_functions(
    IndexedSlices,
    lambda slices: (slices._parts(), lambda values: IndexedSlicesValue(*values)),
    lambda slices, value: list(zip(slices._parts(), value)),
    lambda slices: slices._parts(),
)

register_session_run_conversion_functions(
    SparseTensor,
    lambda sparse: (sparse._parts(), lambda values: SparseTensorValue(*values)),
    lambda sparse, value: list(zip(sparse._parts(), value)),
    lambda sparse: sparse._parts(),
)


def _conversion(value: Any) -> _Conversion | None:
    return next((known for known in _CONVERSIONS if isinstance(value, known.tensor_type)), None)


def feed_conversion(key: Any) -> FeedConversion | None:
    """Return the feed function that is registered for the type of a key. If no registered type
    matches, return None.
    """
    known = _conversion(key)
    return None if known is None else known.feed


def feed_parts(key: Any) -> Sequence[Any] | None:
    """Return the tensors to which a feed key of a partial run refers.

    If the key's type is not registered, return None. Raises TypeError if the type was registered
    without a function for partial runs.
    """
    known = _conversion(key)
    if known is None:
        return None
    if known.feed_parts is None:
        raise TypeError(
            f"Feed argument {key!r} has invalid type {type(key)!r}: it is registered without a "
            "feed_function_for_partial_run"
        )
    return known.feed_parts(key)


class FetchPlan:
    """The fetches of one `run` as flat lists of tensors and targets.

    `rebuild` is a function that receives the tensors' values, and returns them in the structure of
    the fetches.
    """

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self.graph = graph
        self.tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        self._index: dict[Tensor, int] = {}
        self._seen: set[Operation] = set()
        self.rebuild = self._visit(fetches)

    def _visit(self, fetch: Any) -> Rebuild:
        if fetch is None:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}")
        if isinstance(fetch, (list, tuple)):
            return self._sequence(fetch)
        if isinstance(fetch, Mapping):
            return self._mapping(fetch)
        known = _conversion(fetch)
        if known is not None:
            leaves, build = known.fetch(fetch)
            parts = [self._leaf(leaf) for leaf in leaves]
            return lambda values: build([part(values) for part in parts])
        if hasattr(type(fetch), "__attrs_attrs__"):
            return self._attrs_class(fetch)
        return self._leaf(fetch)

    def _sequence(self, fetch: Any) -> Rebuild:
        parts = [self._visit(item) for item in fetch]
        kind = type(fetch)
        if hasattr(fetch, "_fields"):  # a named tuple
            return lambda values: kind(*[part(values) for part in parts])
        if kind is list:
            return lambda values: [part(values) for part in parts]
        return lambda values: kind([part(values) for part in parts])

    def _mapping(self, fetch: Mapping[Any, Any]) -> Rebuild:
        parts = {key: self._visit(item) for key, item in fetch.items()}
        kind: Any = type(fetch)
        if kind is dict:
            return lambda values: {key: part(values) for key, part in parts.items()}
        if issubclass(kind, MutableMapping):
            arguments = [fetch.default_factory] if isinstance(fetch, defaultdict) else []
            return lambda values: _filled(kind(*arguments), parts, values)
        return lambda values: kind({key: part(values) for key, part in parts.items()})

    def _attrs_class(self, fetch: Any) -> Rebuild:
        kind: Any = type(fetch)
        names = [attribute.name for attribute in kind.__attrs_attrs__]
        parts = [self._visit(getattr(fetch, name)) for name in names]
        return lambda values: kind(*[part(values) for part in parts])

    def _leaf(self, fetch: Any) -> Rebuild:
        element = self._element(fetch)
        if not self.graph.is_fetchable(element):
            op = _op(element)
            raise InaccessibleTensorError(
                f"Operation '{op.name}' has been marked as not fetchable: '{element.name}' (made "
                f"at {op.origin}) belongs to the inside of a loop or branch, or fetching it was "
                "prevented. Return its value from there."
            )
        if isinstance(element, Operation):
            if element not in self._seen:
                self._seen.add(element)
                self.targets.append(element)
            return _nothing
        if element not in self._index:
            self._index[element] = len(self.tensors)
            self.tensors.append(element)
        index = self._index[element]
        return lambda values: values[index]

    def _element(self, fetch: Any) -> Tensor | Operation:
        try:
            return self.graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}, must be a string or "
                f"Tensor. ({error})"
            ) from None
        except (ValueError, KeyError) as error:
            message = error.args[0] if error.args else error
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({message})"
            ) from None


def _filled(empty: Any, parts: Mapping[Any, Rebuild], values: Any) -> Any:
    """Store the values in an empty mapping under the keys in `parts`, and return the mapping."""
    for key, part in parts.items():
        empty[key] = part(values)
    return empty


def _op(element: Tensor | Operation) -> Operation:
    return element.op if isinstance(element, Tensor) else element


def _nothing(_: Sequence[Any]) -> None:
    """Return None, the fetched value of an operation."""


def key_of(fetches: Any) -> Any:
    """Return a hashable key for fetches. Lists, tuples and dicts of the same leaves have equal
    keys.
    """
    kind = type(fetches)
    if kind is list or kind is tuple:
        return (kind, *map(key_of, fetches))
    if kind is dict:
        return (kind, *fetches, *map(key_of, fetches.values()))
    return fetches if is_leaf(fetches) else id(fetches)


def names_leaves(fetches: Any) -> bool:
    """Return whether `fetches` is a leaf, or consists of lists, tuples and dicts of leaves."""
    kind = type(fetches)
    if kind is list or kind is tuple:
        return all(map(names_leaves, fetches))
    if kind is dict:
        return all(map(names_leaves, fetches.values()))
    return is_leaf(fetches)


def is_leaf(fetch: Any) -> bool:
    """Return whether `fetch` refers to a single tensor or operation, which is the same object in
    all runs.
    """
    return isinstance(fetch, (Tensor, Operation, str)) or hasattr(fetch, "_as_graph_element")

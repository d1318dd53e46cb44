"""The search for the gradients of an attention, as the gradients of its ops compute them.

    value' = BatchMatMul(chances, back, adj_x)         chances: the Softmax, back: the gradient
    change = BatchMatMul(back, value, adj_y)           of the attention's output
    change = (change - Sum(change * chances)) * chances, then optionally Mul or RealDiv
    query' = BatchMatMul(change, key)
    key' = BatchMatMul(change, query, adj_x) or its transpose BatchMatMul(query, change, adj_x)

Identities may lie between these ops, and NoOps that make all gradients of an op precede each reader
of one of them, as optimizers request. If one of the gradients is missing, or if another op reads an
intermediate result (such as the gradient of a mask that is trained), there is no match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from gpugraph.compile.rewriting.node_replacement import is_reference
from gpugraph.graph.nodes.runtime_graph import Edge, Node

_PRODUCTS = ("BatchMatMul", "BatchMatMulV2")
Tensor = tuple[Node, int]


class Forward(NamedTuple):
    """The parts of an attention that its gradients refer to.

    Args:
      first, last: the products before and after the Softmax.
      scaling: the op that multiplies or divides the scores by a factor, if there is one.
      is_factor: returns whether an edge carries the factor of the scores.
      is_last_axis: returns whether an edge carries the number of the last axis of the scores.
    """

    first: Node
    softmax: Node
    last: Node
    scaling: Node | None
    is_factor: Callable[[Edge], bool]
    is_last_axis: Callable[[Edge], bool]


class Gradients(NamedTuple):
    """The gradients of an attention.

    Args:
      results: the ops that compute the gradients of query, key and value.
      passed: all other ops of the gradients.
      back: the gradient of the attention's output.
      key_rows: whether the gradient of a key is a row, and not a column.
    """

    results: tuple[Node, Node, Node]
    passed: list[Node]
    back: Tensor
    key_rows: bool


class _NoMatchError(Exception):
    """Ends a search."""


def origin(edge: Edge) -> Tensor:
    """Return the tensor of an edge, before it passes through any Identities."""
    while edge.src.type == "Identity" and not is_reference(edge.src.input_edge(0)):
        edge = edge.src.input_edge(0)
    return edge.src, edge.src_output


def gradients_of(forward: Forward, roots: set[int]) -> Gradients | None:
    """Return the gradients of an attention, or None if the readers of its Softmax are not exactly
    these gradients and the product after it.

    Args:
      roots: the ids of nodes that must be kept, because they are fetched for example.
    """
    try:
        return _Search(forward, roots).gradients()
    except _NoMatchError:
        return None


class _Search:
    def __init__(self, forward: Forward, roots: set[int]) -> None:
        self.forward = forward
        self.roots = roots
        self.passed: list[Node] = []

    def gradients(self) -> Gradients:
        """Return the gradients. Raises _NoMatchError if there are none."""
        forward, chances = self.forward, (self.forward.softmax, 0)
        readers = self._readers(forward.softmax)
        last, by_value = self._two(readers, _PRODUCTS)
        if last.dst is not forward.last:
            last, by_value = by_value, last
        _require(last.dst is forward.last and last.dst_input == 0 and by_value.dst_input == 0)
        value = self._product(by_value.dst, True, False)
        back = origin(value.input_edge(1))
        first, second = self._two(readers, ("Mul",))
        change = self._softmax_change(chances, back, {first.dst, second.dst}, len(readers))
        change = self._scaled(change)
        readers = self._readers(change)
        _require(len(readers) == 2)
        query, key = (edge.dst for edge in readers)
        if not self._is_query_gradient(query, change):
            query, key = key, query
        _require(self._is_query_gradient(query, change))
        key_rows = self._key_rows(key, change)
        return Gradients((query, key, value), self.passed, back, key_rows)

    # -- parts

    def _softmax_change(
        self, chances: Tensor, back: Tensor, products: set[Node], num_readers: int
    ) -> Node:
        """Return the op that computes the gradient of the Softmax's input."""
        forward = self.forward
        _require(num_readers == 4 and len(products) == 2)
        for inner in products:
            (outer,) = products - {inner}
            others = [origin(edge) for edge in inner.input_edges()]
            change = next((node for node, _ in others if node.type in _PRODUCTS), None)
            if change is None or chances not in others:
                continue
            self._product(change, False, True)
            _require(origin(change.input_edge(0)) == back)
            _require(origin(change.input_edge(1)) == origin(forward.last.input_edge(1)))
            (total,) = self._take(inner, ("Sum",))
            is_last = forward.is_last_axis(total.input_edge(1))
            _require(bool(total.attrs["keep_dims"]) and is_last)
            (difference,) = self._take(total, ("Sub",))
            _require(
                [origin(edge) for edge in difference.input_edges()] == [(change, 0), (total, 0)]
            )
            both = {edge.dst for edge in self._readers(change)}
            _require(both == {inner, difference} and len(self._readers(change)) == 2)
            _require(self._take(difference, ("Mul",)) == [outer])
            self.passed += [change, inner, total, difference]
            return outer
        raise _NoMatchError

    def _scaled(self, change: Node) -> Node:
        """Return the op that multiplies the gradient by the factor of the scores. Return `change`
        if the scores have no factor.
        """
        scaling = self.forward.scaling
        if scaling is None:
            return change
        (scaled,) = self._take(change, (scaling.type,))
        left, right = scaled.input_edges()
        if origin(left) != (change, 0):
            _require(scaling.type == "Mul")
            left, right = right, left
        _require(origin(left) == (change, 0) and self.forward.is_factor(right))
        self.passed.append(change)
        return scaled

    def _is_query_gradient(self, node: Node, change: Node) -> bool:
        if node.type not in _PRODUCTS or node.attrs["adj_x"]:
            return False
        if node.attrs["adj_y"] == self.forward.first.attrs["adj_y"]:
            return False
        key = origin(self.forward.first.input_edge(1))
        return [origin(edge) for edge in node.input_edges()] == [(change, 0), key]

    def _key_rows(self, node: Node, change: Node) -> bool:
        self.passed.append(change)
        query = origin(self.forward.first.input_edge(0))
        sources = [origin(edge) for edge in self._product(node, True, False).input_edges()]
        _require(sources in ([(change, 0), query], [query, (change, 0)]))
        return sources[0] == (change, 0)

    # -- steps

    def _product(self, node: Node, adj_x: bool, adj_y: bool) -> Node:
        _require(node.type in _PRODUCTS)
        _require((bool(node.attrs["adj_x"]), bool(node.attrs["adj_y"])) == (adj_x, adj_y))
        return node

    def _readers(self, node: Node) -> list[Edge]:
        """Return the edges by which ops read the output of `node`, through Identities, which are
        added to `passed`.
        """
        _require(node.id not in self.roots)
        readers: list[Edge] = []
        for edge in node._out:
            if edge.is_control:
                continue  # `gates_of` checks these
            _require(edge.dst.assigned_device == self.forward.last.assigned_device)
            if edge.dst.type == "Identity":
                if edge.dst not in self.passed:
                    self.passed.append(edge.dst)
                readers += self._readers(edge.dst)
            else:
                readers.append(edge)
        return readers

    def _take(self, node: Node, types: Iterable[str]) -> list[Node]:
        """Return the only reader of `node`, which must be of one of the types."""
        readers = self._readers(node)
        _require(len(readers) == 1 and readers[0].dst.type in types)
        return [readers[0].dst]

    def _two(self, readers: list[Edge], types: Iterable[str]) -> list[Edge]:
        both = [edge for edge in readers if edge.dst.type in types]
        _require(len(both) == 2)
        return both


def gates_of(group: Collection[Node]) -> set[Node]:
    """Return the NoOps that run after one of the nodes and before another one."""
    return {
        edge.dst
        for node in group
        for edge in node._out
        if edge.is_control
        and edge.dst.type == "NoOp"
        and any(after.dst in group for after in edge.dst._out)
    }


def _require(holds: bool) -> None:
    if not holds:
        raise _NoMatchError

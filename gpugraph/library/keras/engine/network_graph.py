"""The graph of the layers between a network's inputs and outputs. The nodes of the graph are sorted
by depth.

A node is one call of a layer. The depth of a node is the length of the node's longest path to an
output. The depth of a layer is the maximum depth of its nodes. As in TensorFlow, nodes are visited
starting from the outputs, and the depth of a node is at least the depth that its layer has when the
node is visited.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpugraph.base.nest import flatten
from gpugraph.library.keras.engine.layer_nodes import LayerNode
from gpugraph.library.keras.engine.layer_paths import Call, calls_to, layer_text, path_text


class NetworkGraph(NamedTuple):
    """The nodes and layers of a network.

    Args:
      nodes: the keys of all nodes, from `node_key`.
      nodes_by_depth, layers_by_depth: dicts from a depth to lists. Nodes at depth 0 compute outputs
        that no other node uses.
      layers: all layers, the deepest first. Layers of the same depth are in the order in which a
        walk from the outputs to the inputs reaches them.
    """

    nodes: frozenset[str]
    nodes_by_depth: dict[int, list[LayerNode]]
    layers: list[Any]
    layers_by_depth: dict[int, list[Any]]

    def sorted_nodes(self) -> list[LayerNode]:
        """Return the nodes, the deepest first. So a node comes after the nodes whose outputs it
        uses.
        """
        depths = sorted(self.nodes_by_depth, reverse=True)
        return [node for depth in depths for node in self.nodes_by_depth[depth]]


def node_key(layer_name: str, node_index: int) -> str:
    """Return the key of a layer's call in `NetworkGraph.nodes`."""
    return f"{layer_name}_ib-{node_index}"


def map_network(inputs: Sequence[Any], outputs: Sequence[Any]) -> NetworkGraph:
    """Return the graph of the layers that lead from the tensors `inputs` to `outputs`.

    Raises ValueError for a cycle, for a tensor that depends on more than the inputs, and for two
    layers of the same name.
    """
    order: dict[Any, int] = {}
    calls = _calls_before(outputs, order)
    node_depths, layer_depths = _depths(calls)
    for tensor in inputs:
        layer = tensor._keras_history.layer
        if layer not in layer_depths:  # skips calls that no output depends on
            layer_depths[layer], order[layer] = 0, -1
            node_depths[layer._inbound_nodes[0]] = 0
            calls.append((layer._inbound_nodes[0], 0))
    nodes_by_depth: defaultdict[int, list[LayerNode]] = defaultdict(list)
    for node, depth in node_depths.items():
        nodes_by_depth[depth].append(node)
    layers_by_depth: defaultdict[int, list[Any]] = defaultdict(list)
    for layer, depth in layer_depths.items():
        layers_by_depth[depth].append(layer)
    for layers in layers_by_depth.values():
        layers.sort(key=order.__getitem__)
    graph = NetworkGraph(
        frozenset(node_key(node.outbound_layer.name, index) for node, index in calls),
        dict(nodes_by_depth),
        [
            layer
            for depth in sorted(layers_by_depth, reverse=True)
            for layer in layers_by_depth[depth]
        ],
        dict(layers_by_depth),
    )
    _check_connected(inputs, outputs, graph)
    _check_names(graph)
    return graph


def extend_network(
    graph: NetworkGraph, inputs: Sequence[Any], tensors: Sequence[Any]
) -> NetworkGraph:
    """Return the graph, extended by the calls that lead from `inputs` to `tensors`.

    The added calls come after the outputs, for example for a loss, and have negative depths. Raises
    the errors of `map_network`.
    """
    calls = _calls_before(tensors, {})
    nodes_by_depth = {depth: list(nodes) for depth, nodes in graph.nodes_by_depth.items()}
    layers_by_depth = {depth: list(layers) for depth, layers in graph.layers_by_depth.items()}
    depths = {node: depth for depth, nodes in nodes_by_depth.items() for node in nodes}
    layers = dict.fromkeys(graph.layers)
    for node, _ in calls:
        if node in depths:
            continue
        before = [_node_of(tensor) for tensor in node.needed_tensors()]
        depth = depths[node] = min([0, *(depths[other] for other in before)]) - 1
        nodes_by_depth.setdefault(depth, []).append(node)
        if node.outbound_layer not in layers:
            layers[node.outbound_layer] = None
            layers_by_depth.setdefault(depth, []).append(node.outbound_layer)
    keys = {node_key(node.outbound_layer.name, index) for node, index in calls}
    extended = NetworkGraph(graph.nodes | keys, nodes_by_depth, list(layers), layers_by_depth)
    _check_connected(inputs, tensors, extended)
    _check_names(extended)
    return extended


def _node_of(tensor: Any) -> LayerNode:
    layer, index, _ = tensor._keras_history
    node: LayerNode = layer.inbound_nodes[index]
    return node


def _calls_before(outputs: Sequence[Any], order: dict[Any, int]) -> list[tuple[LayerNode, int]]:
    """Return all calls on which `outputs` depend, with their indices. A call comes after the calls
    that compute its inputs.

    Args:
      order: a dict that receives a number for each layer. The layers are numbered in the order in
        which a walk from the outputs to the inputs reaches them.
    """
    calls: list[tuple[LayerNode, int]] = []
    finished: set[LayerNode] = set()
    for output in outputs:
        stack: list[tuple[LayerNode, int, Iterator[Any]]] = []
        in_progress: set[LayerNode] = set()
        waiting = iter([output])
        while True:
            tensor = next(waiting, None)
            if tensor is None:
                if not stack:
                    break
                node, index, waiting = stack.pop()
                finished.add(node)
                in_progress.remove(node)
                calls.append((node, index))
                continue
            layer, index, _ = tensor._keras_history
            node = layer._inbound_nodes[index]
            if node in in_progress:
                cycle = [(layer, index), *_calls_of(stack, since=node), (layer, index)]
                raise ValueError(
                    f'The tensor {tensor} at layer "{layer.name}" is part of a cycle. Node {index} '
                    f"of {layer_text(layer)} needs itself: {path_text(cycle)}"
                )
            if node in finished:
                continue
            order.setdefault(layer, len(order))
            in_progress.add(node)
            stack.append((node, index, waiting))
            waiting = iter(node.needed_tensors())
    return calls


def _calls_of(stack: Sequence[tuple[LayerNode, int, Any]], since: LayerNode) -> list[Call]:
    """Return the calls on the walk's stack after `since`, the call nearest to the inputs first."""
    nodes = [node for node, _, _ in stack]
    inner = stack[nodes.index(since) + 1 :]
    return [(node.outbound_layer, index) for node, index, _ in reversed(inner)]


def _depths(calls: Sequence[tuple[LayerNode, int]]) -> tuple[dict[LayerNode, int], dict[Any, int]]:
    """Return the depth of each node and of each layer, as the module's docstring defines it."""
    nodes: dict[LayerNode, int] = {}
    layers: dict[Any, int] = {}
    for node, _ in reversed(calls):
        depth = max(nodes.get(node, 0), layers.get(node.outbound_layer, 0))
        nodes[node] = layers[node.outbound_layer] = depth
        for tensor in node.needed_tensors():
            layer, index, _ = tensor._keras_history
            inbound = layer._inbound_nodes[index]
            nodes[inbound] = max(depth + 1, nodes.get(inbound, 0))
    return nodes, layers


def _check_connected(inputs: Sequence[Any], outputs: Sequence[Any], graph: NetworkGraph) -> None:
    computable = {id(tensor) for tensor in inputs}
    passed: list[str] = []
    for node in graph.sorted_nodes():
        layer = node.outbound_layer
        for tensor in flatten(node.input_tensors):
            if id(tensor) not in computable:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {tensor} at layer "
                    f'"{layer.name}". The following previous layers were accessed without '
                    f"issue: {passed}. An output needs node {_index(node)} of "
                    f"{layer_text(layer)}: {path_text(_calls_after(node, outputs))}. Is it "
                    "missing among the inputs of the model?"
                )
        computable.update(id(tensor) for tensor in flatten(node.output_tensors))
        passed.append(layer.name)


def _calls_after(first: LayerNode, outputs: Sequence[Any]) -> list[Call]:
    """Return the calls of a shortest path from the node `first` to an output."""
    path: tuple[Call, ...] = ()
    waiting = deque((tensor, path) for tensor in outputs)
    seen: set[LayerNode] = set()
    while waiting:
        tensor, after = waiting.popleft()
        layer, index, _ = tensor._keras_history
        node, path = layer.inbound_nodes[index], ((layer, index), *after)
        if node is first:
            break
        if node not in seen:
            seen.add(node)
            waiting.extend((needed, path) for needed in node.needed_tensors())
    return list(path)


def _check_names(graph: NetworkGraph) -> None:
    for name, count in Counter(layer.name for layer in graph.layers).items():
        if count != 1:
            nodes = [node for node in graph.sorted_nodes() if node.outbound_layer.name == name]
            raise ValueError(
                f'The name "{name}" is used {count} times in the model. All layer names should be '
                f"unique. The calls of that name: {', '.join(map(_node_text, nodes))}"
            )


def _index(node: LayerNode) -> int:
    index: int = node.outbound_layer.inbound_nodes.index(node)
    return index


def _node_text(node: LayerNode) -> str:
    layer, index = node.outbound_layer, _index(node)
    path = path_text([*calls_to(node.needed_tensors()), (layer, index)])
    return f"node {index} of {layer_text(layer)} by {path}"


class OfGraph:
    """A read-only property of a network that returns the attribute of the same name of its
    NetworkGraph.
    """

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, network: Any, owner: type) -> Any:
        return self if network is None else getattr(network.network_graph, self._name)

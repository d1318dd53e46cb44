"""Networks as rows of text: a row is a layer, or branches that are concatenated.

    pool1 max 3x3 /2              the maximum of windows of 3 x 3, with stride 2
    conv1 64 11x11 /4 VALID       a convolution with 64 filters
    Mixed: a 64 1x1 | b 96 1x1, c 128 3x3 & d 128 1x3
                                  two branches; the second ends in two parallel layers

A layer's variable scope has the layer's name. The scopes of branches are `Branch_0` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.contrib.layers import avg_pool2d, conv2d, dropout, max_pool2d, softmax
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import squeeze

_POOLS = {"max": max_pool2d, "avg": avg_pool2d}

Depth = Callable[[int], int]


class LayerRow(NamedTuple):
    """One convolution or pooling layer in a row.

    Args:
      kind: the number of filters of a convolution, or "max" or "avg" for a pooling layer.
      options: the layer's stride and padding.
    """

    name: str
    kind: str
    size: list[int]
    options: dict[str, Any]

    def run(self, inputs: Any, depth: Depth, **arguments: Any) -> Any:
        """Return the layer's outputs.

        Args:
          depth: a function that receives the number of filters in the row and returns the number to
            use.
        """
        arguments |= self.options
        if self.kind in _POOLS:
            return _POOLS[self.kind](inputs, self.size, scope=self.name, **arguments)
        return conv2d(inputs, depth(int(self.kind)), self.size, scope=self.name, **arguments)


def read_layer(text: str) -> LayerRow:
    """Parse a layer: its name, number of filters (or "max", "avg"), size, and optional stride and
    padding.
    """
    name, kind, size, *rest = text.split()
    options: dict[str, Any] = {}
    for word in rest:
        key, value = ("stride", int(word[1:])) if word[0] == "/" else ("padding", word)
        options[key] = value
    return LayerRow(name, kind, [int(side) for side in size.split("x")], options)


def same_depth(filters: int) -> int:
    """Return the number of filters unchanged."""
    return filters


def run_rows(net: Any, rows: str, depth: Depth = same_depth) -> Iterator[tuple[str, Any]]:
    """Yield the name and the outputs of each row. The input of a row is the output of the previous
    row.

    Args:
      net: the input of the first row.
      depth: see `LayerRow.run`.
    """
    for row in filter(None, map(str.strip, rows.splitlines())):
        name, _, branches = row.partition(":")
        if branches:
            net = _run_branches(net, name, branches, depth)
        else:
            layer = read_layer(row)
            name, net = layer.name, layer.run(net, depth)
        yield name, net


def _run_branches(net: Any, name: str, branches: str, depth: Depth) -> Any:
    """Return the outputs of all branches of a row, concatenated along the channels."""
    with variable_scope(name):
        outputs = []
        for number, branch in enumerate(branches.split("|")):
            with variable_scope(f"Branch_{number}"):
                outputs.append(_run_branch(net, branch, depth))
        return concat(outputs, 3)


def _run_branch(net: Any, branch: str, depth: Depth) -> Any:
    for step in branch.split(","):
        side_by_side = [read_layer(text).run(net, depth) for text in step.split("&")]
        net = side_by_side[0] if len(side_by_side) == 1 else concat(side_by_side, 3)
    return net


def run_until(
    net: Any, rows: str, final_endpoint: str, depth: Depth = same_depth
) -> tuple[Any, dict[str, Any]]:
    """Return the output of the row `final_endpoint`, and a dict of the outputs of all rows up to
    this row.

    Raises ValueError if no row has that name.
    """
    end_points = {}
    for name, outputs in run_rows(net, rows, depth):
        end_points[name] = outputs
        if name == final_endpoint:
            return outputs, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}: one of {', '.join(end_points)}")


def end_points_of(collection: str) -> dict[str, Any]:
    """Return a dict of the outputs in a collection. The keys are their aliases, which are names of
    scopes.
    """
    graph = get_default_graph()
    return {
        alias: outputs for outputs in graph.get_collection(collection) for alias in outputs.aliases
    }


def as_classifier(
    net: Any, scope: Any, squeezed: str, end_points: dict[str, Any], spatial_squeeze: bool
) -> Any:
    """Return the logits.

    If `spatial_squeeze` is true, [n, 1, 1, classes] becomes [n, classes] in a layer named
    `squeezed`, and the logits are added to `end_points`, the dict of outputs.
    """
    if spatial_squeeze:
        net = squeeze(net, [1, 2], name=f"{squeezed}/squeezed")
        end_points[f"{scope.name}/{squeezed}"] = net
    return net


def pooled_size(net: Any, size: list[int]) -> list[int]:
    """Return the size of a pooling window: `size`, limited to the size of `net`."""
    sides = net.shape.as_list()[1:3]
    return [wanted if side is None else min(side, wanted) for side, wanted in zip(sides, size)]


def predictions(
    net: Any, end_points: dict[str, Any], num_classes: int, names: tuple[str, str, str],
    size: list[int], keep_prob: float, spatial_squeeze: bool, prediction_fn: Any = softmax,
    features: str | None = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Add the final layers of an inception network. Return the logits and the dict of outputs.

    The layers are a pooling with windows of `size`, a dropout and a convolution. `names` contains
    their names in this order.

    Args:
      features: the key in `end_points` for the outputs of the dropout, or None.
    """
    pool, drop, conv = names
    with variable_scope("Logits"):
        net = avg_pool2d(net, size, stride=1, padding="VALID", scope=pool)
        net = dropout(net, keep_prob=keep_prob, scope=drop)
        if features is not None:
            end_points[features] = net
        logits = conv2d(
            net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=conv
        )
        if spatial_squeeze:
            logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
    end_points["Logits"] = logits
    end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points

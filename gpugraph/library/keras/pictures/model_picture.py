"""A model as an SVG drawing: a box for each layer, in rows by depth, with the inputs at the top."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from gpugraph.library.keras.pictures.layered_layout import Box, PictureLayout, lay_out

_CHARACTER = 7.25
"""The width of a character of a monospaced 12-pixel font, in pixels."""

_LINE, _PADDING, _TITLE, _MARGIN = 17.0, 8.0, 22.0, 12.0

_ARRIVAL_GAP = 18.0
"""The maximum distance between the ends of two arrows at the same box, in pixels."""

_RULES = """
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1d2733; }
.kind { font-weight: 600; }
.shape { fill: #52606d; }
rect { fill: #ffffff; stroke: #8593a3; rx: 5px; }
.input rect { fill: #e3f1fb; stroke: #3a87bd; }
.nested > rect { fill: #f5f2fb; stroke: #8a76c2; }
path { fill: none; stroke: #8593a3; stroke-width: 1.3; }
marker path { fill: #8593a3; stroke: none; }
"""

_DARK_RULES = """
text { fill: #e6edf3; }
.shape { fill: #a9b4c0; }
rect { fill: #20262d; stroke: #66717d; }
.input rect { fill: #17364a; stroke: #4d9ccf; }
.nested > rect { fill: #2a2538; stroke: #9c8ad1; }
"""


def _of_pictures(rules: str) -> str:
    """Restrict CSS rules to these drawings, because a notebook's page also contains other
    elements.
    """
    return "".join(f".keras-model {rule}\n" for rule in rules.strip().splitlines())


_STYLE = (
    f"\n{_of_pictures(_RULES)}@media (prefers-color-scheme: dark) {{\n"
    f"{_of_pictures(_DARK_RULES)}}}\n"
)


@dataclass(frozen=True)
class PictureOptions:
    """The options of a drawing, which are arguments of `plot_model`."""

    show_shapes: bool = False
    show_layer_names: bool = True
    left_to_right: bool = False
    expand_nested: bool = False


@dataclass
class _Drawing:
    """A group of SVG elements, and the size of the group in pixels."""

    elements: str
    width: float
    height: float


def model_svg(model: Any, options: PictureOptions, scale: float = 1.0) -> str:
    """Return the drawing of a model as the text of an SVG file.

    A Sequential model that is not a graph of layers is drawn as a chain of layers. Any other model
    that is not a graph of layers is drawn as a single box.
    """
    drawing = _draw_graph(model, options)
    width, height = drawing.width + 2 * _MARGIN, drawing.height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="keras-model" width="{width * scale:.0f}" '
        f'height="{height * scale:.0f}" viewBox="0 0 {width:.1f} {height:.1f}" role="img" '
        f'aria-label="{escape(model.name)}">\n<style>{_STYLE}</style>\n'
        '<defs><marker id="keras-model-arrow" markerWidth="8" markerHeight="8" refX="7" refY="4" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>\n'
        f'<g transform="translate({_MARGIN:g},{_MARGIN:g})">\n{drawing.elements}</g>\n</svg>\n'
    )


def _draw_graph(model: Any, options: PictureOptions) -> _Drawing:
    """Draw the layers of a model in rows by depth, and the edges between them."""
    layers, depths, edges = _graph_of(model)
    drawings = [_draw_layer(layer, options) for layer in layers]
    turned = options.left_to_right
    deepest = max(depths)
    boxes = [
        Box(*((drawing.height, drawing.width) if turned else (drawing.width, drawing.height)),
            rank=deepest - depth)
        for drawing, depth in zip(drawings, depths)
    ]  # fmt: skip
    layout = lay_out(boxes, edges)
    shifts = _arrivals(layout.routes)
    elements = [_path(route, shift, turned) for route, shift in zip(layout.routes, shifts)]
    for drawing, box in zip(drawings, boxes):
        x, y = (box.y, box.x) if turned else (box.x, box.y)
        corner = f"translate({x - drawing.width / 2:.1f},{y - drawing.height / 2:.1f})"
        elements.append(f'<g transform="{corner}">{drawing.elements}</g>\n')
    return _Drawing("".join(elements), *_size(layout, turned))


def _size(layout: PictureLayout, turned: bool) -> tuple[float, float]:
    return (layout.height, layout.width) if turned else (layout.width, layout.height)


def _graph_of(model: Any) -> tuple[list[Any], list[int], list[tuple[int, int]]]:
    """Return the layers of a model, their depths, and edges as pairs (from, to) of indices into the
    layers.
    """
    if not model.is_graph_network:
        layers = list(model.layers) if hasattr(model, "add") and model.layers else [model]
        count = len(layers)
        chain = [(number, number + 1) for number in range(count - 1)]
        return layers, list(range(count - 1, -1, -1)), chain
    by_depth = model.layers_by_depth
    placed = [
        (layer, depth) for depth in sorted(by_depth, reverse=True) for layer in by_depth[depth]
    ]
    numbers = {id(layer): number for number, (layer, _) in enumerate(placed)}
    nodes = {id(node) for calls in model.nodes_by_depth.values() for node in calls}
    edges: dict[tuple[int, int], None] = {}
    for number, (layer, depth) in enumerate(placed):
        for node in layer.inbound_nodes:
            if id(node) in nodes:
                for source in node.inbound_layers:
                    first = numbers.get(id(source))
                    if first is not None and placed[first][1] > depth:
                        edges[first, number] = None
    return [layer for layer, _ in placed], [depth for _, depth in placed], list(edges)


def _draw_layer(layer: Any, options: PictureOptions) -> _Drawing:
    """Draw the box of a layer, or a frame that contains the layers of a nested model."""
    is_model = hasattr(layer, "is_graph_network")
    if options.expand_nested and is_model and layer.layers:
        inner = _draw_graph(layer, options)
        title = _label(layer, options)
        width = max(inner.width, len(title) * _CHARACTER) + 2 * _MARGIN
        height = inner.height + _TITLE + 2 * _MARGIN
        offset = (width - inner.width) / 2
        elements = (
            f'<g class="nested">{_frame(width, height)}{_text(_MARGIN, 18.0, title, "kind")}</g>'
            f'<g transform="translate({offset:.1f},{_TITLE + _MARGIN:g})">{inner.elements}</g>'
        )
        return _Drawing(elements, width, height)
    lines = [(_label(layer, options), "kind")]
    if options.show_shapes:
        shapes = [f"{kind}: {_shape(layer, kind)}" for kind in ("input", "output")]
        lines += [(shape, "shape") for shape in shapes]
    width = max(len(text) for text, _ in lines) * _CHARACTER + 2 * _PADDING
    height = len(lines) * _LINE + 2 * _PADDING - 4
    kind = "input" if type(layer).__name__ == "InputLayer" else "nested" if is_model else "layer"
    texts = "".join(
        _text(_PADDING, _PADDING + _LINE * number + 12, text, style)
        for number, (text, style) in enumerate(lines)
    )
    return _Drawing(f'<g class="{kind}">{_frame(width, height)}{texts}</g>', width, height)


def _label(layer: Any, options: PictureOptions) -> str:
    """Return the text `name: Class`. The name and class of a wrapped layer follow in
    parentheses.
    """
    name, kind = layer.name, type(layer).__name__
    inner: Any = getattr(layer, "layer", None)
    if hasattr(inner, "name") and not hasattr(layer, "is_graph_network"):
        name, kind = f"{name}({inner.name})", f"{kind}({type(inner).__name__})"
    return f"{name}: {kind}" if options.show_layer_names else kind


def _shape(layer: Any, kind: str) -> str:
    """Return a layer's input or output shape as text.

    `?` means that the layer was not called, and `multiple` means that its calls have different
    shapes.
    """
    nodes = layer.inbound_nodes
    shapes = {str(getattr(node, f"{kind}_shapes")) for node in nodes}
    return "multiple" if len(shapes) > 1 else shapes.pop() if shapes else "?"


def _frame(width: float, height: float) -> str:
    return f'<rect width="{width:.1f}" height="{height:.1f}"/>'


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(text)}</text>'


def _arrivals(routes: Sequence[Sequence[Box]]) -> list[float]:
    """Return the horizontal offset of each route's end from the center of its last box.

    Routes that end at the same box are spread horizontally, in the order of their previous boxes.
    """
    shifts = [0.0] * len(routes)
    arriving: defaultdict[int, list[int]] = defaultdict(list)
    for number, route in enumerate(routes):
        arriving[id(route[-1])].append(number)
    for numbers in arriving.values():
        numbers.sort(key=lambda number: routes[number][-2].x)
        step = min(_ARRIVAL_GAP, routes[numbers[0]][-1].width / (len(numbers) + 1))
        for place, number in enumerate(numbers):
            shifts[number] = (place - (len(numbers) - 1) / 2) * step
    return shifts


def _path(route: Sequence[Box], shift: float, turned: bool) -> str:
    """Draw a curve from the lower edge of the first box to the upper edge of the last box.

    Args:
      shift: the offset of the curve's end from the center of the last box.
      turned: whether x and y are exchanged, for a drawing from left to right.
    """
    parts: list[str] = []
    for box, following in pairwise(route):
        end = following.x + (shift if following is route[-1] else 0.0)
        y, next_y = box.y + box.height / 2, following.y - following.height / 2
        parts.append(f"{'L' if parts else 'M'}{_point((box.x, y), turned)}")
        middle = (y + next_y) / 2
        corners = [(box.x, middle), (end, middle), (end, next_y)]
        parts.append("C" + " ".join(_point(corner, turned) for corner in corners))
    return f'<path d="{" ".join(parts)}" marker-end="url(#keras-model-arrow)"/>\n'


def _point(point: tuple[float, float], turned: bool) -> str:
    x, y = reversed(point) if turned else point
    return f"{x:.1f},{y:.1f}"

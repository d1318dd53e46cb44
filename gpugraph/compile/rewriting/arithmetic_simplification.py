"""Arithmetic simplification: ops that undo each other, and ops with a neutral operand, become
views. Powers with a constant exponent become products or roots.

  Reshape, ExpandDims, Squeeze of one of them    one Reshape, or an Identity
  Cast of a lossless Cast                        one Cast, or an Identity
  Neg of Neg, the same for LogicalNot, Conj, ... Identity
  x * 1, x / 1, x - 0, x + -0.0, integers + 0    Identity
  x ** 1, 2, 3, -1, 0.5, -0.5                    Identity, Square, ..., Sqrt, Rsqrt
  x[i], x[:, i], ... with i known only in a run  _SliceAt, on CPUs
  FusedPadConv2D and other ops of older graphs   several ops (older_op_expansion.py)

Except for powers, an op is replaced only if the result is equal bit by bit for every x, including
NaN and -0.0 (x + 0.0 is not x if x is -0.0). A pair of Reshapes is replaced only if all shapes are
known, because otherwise the inner Reshape might fail in a run. Powers are replaced in the same way
as by TensorFlow's optimizer, so x ** 0.5 is NaN for -inf and -0.0 for -0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import finfo
from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import equal_sizes
from gpugraph.compile.rewriting.node_replacement import Replacing, behind, is_reference, known_value
from gpugraph.compile.rewriting.older_op_expansion import EXPANSIONS
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.ops.indexing.slice_at import MOVED

LARGEST_NEUTRAL = 4096
"""The maximum number of elements of a constant operand that is tested for neutrality."""

_VIEWS = {"Reshape", "ExpandDims", "Squeeze"}


@compile_pass("arithmetic_optimization")
def cancel(unit: Unit) -> Outcome:
    """Replace ops that undo another op or have a neutral operand."""
    return Replacing(unit).visit(_VISITS, "ops cancel others or are neutral")


def _inner(node: Node, types: set[str], passed: list[Node]) -> Edge | None:
    """Return the edge to the first input of the op that computes the node's first input, if the
    type of that op is in `types`, or else None. Add bypassed nodes to `passed`.
    """
    source = behind(node.input_edge(0), passed).src
    if source.type not in types:
        return None
    passed.append(source)
    edge = source.input_edge(0)
    return None if is_reference(edge) else edge


# -- shapes


def _visit_view(replacing: Replacing, node: Node) -> None:
    unit = replacing.unit
    passed: list[Node] = []
    edge = _inner(node, _VIEWS, passed)
    if edge is None or not _cant_fail(unit, passed[-1]) or not _cant_fail(unit, node):
        return
    source = edge.src, edge.src_output
    replacing.lines.append(f"{node.name}: {node.type} of {passed[-1].type} {passed[-1].name}")
    before, after = unit.shapes[edge.src.id][edge.src_output], unit.shapes[node.id][0]
    if equal_sizes(before.sizes, after.sizes):
        replacing.put_identity(node, source, passed)
    else:
        replacing.put_reshape(node, source, passed)


def _cant_fail(unit: Unit, node: Node) -> bool:
    """Return whether a Reshape, ExpandDims or Squeeze can't fail in a run, because its shapes are
    known and its other inputs are constants.
    """
    edge, *others = node.input_edges()
    before, after = unit.shapes[edge.src.id][edge.src_output], unit.shapes[node.id][0]
    return (
        before.is_fully_defined()
        and after.is_fully_defined()
        and all(known_value(unit, other) is not None for other in others)
    )


# -- dtypes


def _visit_cast(replacing: Replacing, node: Node) -> None:
    passed: list[Node] = []
    edge = _inner(node, {"Cast"}, passed)
    if edge is None or passed[-1].attrs["Truncate"] or node.attrs["Truncate"]:
        return
    first, between = passed[-1].attrs["SrcT"], passed[-1].attrs["DstT"]
    target = node.attrs["DstT"]
    if not _holds(between, first) or not (_is_inexact(target) or _holds(target, first)):
        return
    source = edge.src, edge.src_output
    replacing.lines.append(f"{node.name}: from {first.name}, as {passed[-1].name} loses nothing")
    if target is first:
        replacing.put_identity(node, source, passed)
    else:
        attrs = {"SrcT": first, "DstT": target, "Truncate": False}
        replacing.put(node, "Cast", attrs, [source], passed)


def _is_inexact(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_complex


def _holds(wide: DType, narrow: DType) -> bool:
    """Return whether the dtype `wide` can represent each value of the dtype `narrow`."""
    if wide is narrow:
        return True
    if wide.is_complex:
        wide, narrow = wide.real_dtype, narrow.real_dtype
    if narrow.is_bool:
        return wide.is_integer or wide.is_floating
    if wide.is_floating:
        if narrow.is_floating and _min_exponent(narrow) < _min_exponent(wide):
            return False  # bfloat16 has a larger range than float16, which has more bits
        return narrow.real_dtype is narrow and _bits(narrow) <= _bits(wide)
    if not (wide.is_integer and narrow.is_integer):
        return False
    return bool(wide.min <= narrow.min and narrow.max <= wide.max)


def _min_exponent(dtype: DType) -> int:
    return int(finfo(dtype.as_numpy_dtype).minexp)


def _bits(dtype: DType) -> int:
    """Return the number of bits of an integer dtype (without the sign), or of the significand of a
    floating-point dtype.
    """
    if dtype.is_floating:
        return int(finfo(dtype.as_numpy_dtype).nmant) + 1
    return dtype.size * 8 - (not dtype.is_unsigned)


# -- numbers


def _visit_inverse(replacing: Replacing, node: Node) -> None:
    passed: list[Node] = []
    edge = _inner(node, {node.type}, passed)
    if edge is not None:
        replacing.lines.append(f"{node.name}: undoes {node.type} {passed[-1].name}")
        replacing.put_identity(node, (edge.src, edge.src_output), passed)


def _visit_neutral(replacing: Replacing, node: Node) -> None:
    number, slots = _neutral(node.type, node.output_types[0].base_dtype)
    edges = node.input_edges()
    for slot in slots:
        value, other = known_value(replacing.unit, edges[slot]), edges[1 - slot]
        if value is None or is_reference(other) or not _is_all(value, number):
            continue
        if value.ndim and not _keeps_shape(replacing.unit, node, other):
            continue
        replacing.lines.append(f"{node.name}: {node.type} with {number}")
        replacing.put_identity(node, (other.src, other.src_output))
        return


def _neutral(op_type: str, dtype: DType) -> tuple[Any, tuple[int, ...]]:
    """Return the neutral operand of an op, and the indices of the inputs that may be this operand.
    The op's result then equals its other input. For some dtypes, there are no such inputs.
    """
    slots = (0, 1) if op_type in ("Mul", "Add", "AddV2") else (1,)
    if op_type in ("Mul", "RealDiv", "Div", "TruncateDiv", "FloorDiv"):
        rounds = op_type in ("TruncateDiv", "FloorDiv")
        return (1, slots) if dtype.is_integer or (dtype.is_floating and not rounds) else (1, ())
    if dtype.is_floating:
        return (0.0 if op_type == "Sub" else -0.0), slots
    return (0, slots) if dtype.is_integer else (0, ())


def _is_all(value: Any, number: Any) -> bool:
    if not 0 < value.size <= LARGEST_NEUTRAL or not (value == number).all():
        return False
    return isinstance(number, int) or bool((np.signbit(value) == np.signbit(number)).all())


def _keeps_shape(unit: Unit, node: Node, edge: Edge) -> bool:
    after = unit.shapes[node.id][0]
    before = unit.shapes[edge.src.id][edge.src_output]
    return after.is_fully_defined() and equal_sizes(before.sizes, after.sizes)


_POWERS: Mapping[float, str] = {
    1: "Identity",
    2: "Square",
    3: "Mul",  # of the square and x
    -1: "Reciprocal",
    0.5: "Sqrt",
    -0.5: "Rsqrt",
}
"""The op that computes a power, by exponent. The last three are for floats."""


def _visit_power(replacing: Replacing, node: Node) -> None:
    unit, dtype = replacing.unit, node.output_types[0].base_dtype
    base, exponent = node.input_edges()
    value = known_value(unit, exponent)
    if value is None or is_reference(base) or not 0 < value.size <= LARGEST_NEUTRAL:
        return
    number = float(value.flat[0]) if dtype.is_floating or dtype.is_integer else 0.0
    op_type = _POWERS.get(number, "")
    whole = op_type in ("Identity", "Square", "Mul")
    if not (whole or (op_type and dtype.is_floating)) or not (value == value.flat[0]).all():
        return
    if op_type == "Mul" and dtype.is_floating and dtype.size < 4:
        return  # two roundings are one unit in the last place
    if value.ndim and not _keeps_shape(unit, node, base):
        return
    replacing.lines.append(f"{node.name}: Pow with {number:g}")
    attrs, sources = {"T": dtype}, [(base.src, base.src_output)]
    if op_type == "Mul":
        square = unit.add_op(
            *("Square", node, sources),
            attrs=attrs,
            output_types=[dtype],
            suffix="square",
            shapes=unit.shapes[node.id],
        )
        sources.insert(0, (square, 0))
    replacing.put(node, op_type, attrs, sources)


# -- slices


def _visit_slice(replacing: Replacing, node: Node) -> None:
    """Replace a StridedSlice that selects one index of an axis and everything along the other axes,
    if the index is known only in the run, for example because it depends on the iteration of a
    loop.
    """
    unit, attrs = replacing.unit, node.attrs
    edge, begin, _, strides = node.input_edges()
    shape = unit.shapes[edge.src.id][edge.src_output].sizes
    masks = [attrs[key] for key in ("begin_mask", "end_mask", "shrink_axis_mask")]
    if (
        attrs["ellipsis_mask"]
        or attrs["new_axis_mask"]
        or set(unit.device_types.values()) != {"CPU"}
    ):
        return
    size = unit.shapes[begin.src.id][begin.src_output].num_elements()
    if shape is None or type(size) is not int or len(shape) < size or masks[2].bit_count() != 1:
        return
    steps, whole = known_value(unit, strides), (1 << size) - 1 & ~masks[2]
    if steps is None or not np.all(steps == 1) or masks[0] & masks[2]:
        return
    if masks[0] & masks[1] & whole != whole:
        return
    if known_value(unit, begin) is not None or attrs["T"].base_dtype not in MOVED:
        return
    axis = masks[2].bit_length() - 1
    sources = [(edge.src, edge.src_output), (begin.src, begin.src_output)]
    replacing.lines.append(f"{node.name}: slices at an index of axis {axis}")
    kept = {"T": attrs["T"], "Index": attrs["Index"], "axis": axis}
    replacing.put(node, "_SliceAt", kept, sources)


_VISITS: Mapping[str, Callable[[Replacing, Node], None]] = {
    **dict.fromkeys(_VIEWS, _visit_view),
    "Cast": _visit_cast,
    **dict.fromkeys(("Neg", "LogicalNot", "Conj"), _visit_inverse),
    "Pow": _visit_power,
    "StridedSlice": _visit_slice,
    **EXPANSIONS,
    **dict.fromkeys(
        ("Mul", "Add", "AddV2", "Sub", "RealDiv", "Div", "TruncateDiv", "FloorDiv"), _visit_neutral
    ),
}

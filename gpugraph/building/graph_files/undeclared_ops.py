"""Nodes whose op type is not declared. The attrs of such a node are kept unchanged, and the number
and dtypes of its outputs are guessed.

A file does not describe the outputs of such a node. The number of outputs is the length of the
node's `_output_shapes`, or the number of outputs that other nodes use. The dtypes are guessed from
the node's attrs. The first consumer with a known signature then determines the dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, float32
from gpugraph.building.graph_files.attr_import import input_types
from gpugraph.building.graph_files.graph_def_index import GraphDefIndex
from gpugraph.formats.attr_value_messages import read_attr_value
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_def import OpDef

_TYPE_LISTS = ("Tout", "output_types", "out_types", "component_types")
_TYPES = ("dtype", "T", "out_type", "output_type", "DstT")


def raw_attrs(node: Any) -> dict[str, Any]:
    """Return the attrs of a node as they are in the NodeDef, without attrs that can't be read."""
    attrs: dict[str, Any] = {}
    for key, message in node.attr.items():
        if key != "_output_shapes":
            try:
                attrs[key] = read_attr_value(message)
            except (TypeError, ValueError):
                continue
    return attrs


class OutputGuesses:
    """The number and dtypes of the outputs of nodes of undeclared op types."""

    def __init__(self, index: GraphDefIndex) -> None:
        self._index = index
        self._counts: dict[str, int] | None = None
        self._open: set[Tensor] = set()

    def output_types(self, number: int) -> list[DType]:
        """Return a guess of the dtype of each output of a node. `settle` may correct the guess
        later.
        """
        node = self._index.nodes[number]
        count = max(self._count(node.name), len(node.attr["_output_shapes"].list.shape)
                    if "_output_shapes" in node.attr else 0)  # fmt: skip
        for key in _TYPE_LISTS:
            types = node.attr[key].list.type if key in node.attr else ()
            if len(types) >= max(count, 1):
                return [_dtype(number) for number in types]
        numbers = [node.attr[key].type for key in _TYPES if key in node.attr]
        dtype = _dtype(numbers[0]) if numbers else float32
        return [dtype] * max(count, 1)

    def _count(self, name: str) -> int:
        """Return the minimum number of outputs of a node: enough for all outputs that its consumers
        use.
        """
        if self._counts is None:
            self._counts = {}
            for sources in self._index.sources:
                for source, output in sources:
                    self._counts[source] = max(self._counts.get(source, 0), output + 1)
        return self._counts.get(name, 0)

    def note(self, op: Operation) -> None:
        """Record that an operation's output dtypes are guesses, which `settle` may replace."""
        self._open.update(op._outputs)

    def settle(self, op_def: OpDef, attrs: Mapping[str, Any], inputs: Sequence[Tensor]) -> None:
        """Replace the guessed dtypes of `inputs` by the dtypes that their consumer requires.

        Args:
          op_def, attrs: the signature and the attrs of the consumer.
        """
        if self._open and not self._open.isdisjoint(inputs):
            wanted = input_types(op_def, attrs, len(inputs)) or ()
            for tensor, dtype in zip(inputs, wanted):
                if tensor in self._open:
                    self._open.discard(tensor)
                    tensor._dtype = dtype


def _dtype(number: int) -> DType:
    try:
        return as_dtype(number)
    except TypeError:
        return float32

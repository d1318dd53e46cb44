"""The static properties of one node, before memory is assigned to its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpugraph.base.dtypes import DType


@dataclass(slots=True)
class NodeSignature:
    """The `Signature` of a node with known shapes.

    Args:
      host_values: the values of host inputs, by input index. They are known at compile time.
    """

    name: str
    attrs: Mapping[str, Any]
    input_types: Sequence[DType]
    output_types: Sequence[DType]
    input_shapes: Sequence[tuple[int, ...]]
    output_shapes: Sequence[tuple[int, ...]]
    host_values: Mapping[int, Any]

    def value(self, index: int) -> Any:
        """Return the value of host input `index`, an array."""
        return self.host_values[index]

    def device_inputs(self) -> list[int]:
        """Return the indices of the inputs that are not host inputs."""
        return [index for index in range(len(self.input_types)) if index not in self.host_values]

"""TensorArrays among the tensors that go through branches and loops.

A TensorArray goes by its flow, the one tensor of it that says what was written before what. On
the other side it is made again, with the flow that came out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray, build_ta_with_new_flow


def as_flow(value: Any) -> Any:
    """The flow of a TensorArray; anything else as it is."""
    return value.flow if isinstance(value, TensorArray) else value


def with_flows(originals: Sequence[Any], tensors: Sequence[Tensor]) -> list[Any]:
    """`tensors`, as TensorArrays of these flows where the originals are TensorArrays."""
    return [
        build_ta_with_new_flow(original, tensor) if isinstance(original, TensorArray) else tensor
        for original, tensor in zip(originals, tensors)
    ]

"""Elements of tensors of dtype variant: objects of types that are registered in C++ by name.

Graphs hold them as constants. Ops here move them, and support the zero of a few types.
"""

from __future__ import annotations

from typing import NamedTuple

_NUMBERS = ("int", "float", "double", "bool", "int64", "int32")


class Variant(NamedTuple):
    """The fields of a VariantTensorDataProto; `tensors` are serialized."""

    type_name: str
    metadata: bytes
    tensors: tuple[bytes, ...] = ()

    def zero(self) -> Variant:
        """Return the zero of its type. ValueError for a type that is not numeric."""
        if self.type_name not in _NUMBERS:
            raise ValueError(
                "No unary variant unary_op function found for unary variant op enum: 1 Variant "
                f"type_name: {self.type_name} for device type: CPU"
            )
        return Variant(self.type_name, bytes(len(self.metadata)))

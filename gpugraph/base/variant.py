"""Elements of tensors of dtype variant: objects whose types TensorFlow registers in C++ by name.

A graph can hold a variant tensor as a constant. Ops of this package can copy its elements, and can
create zeros of the numeric types.
"""

from __future__ import annotations

from typing import NamedTuple

_NUMBERS = ("int", "float", "double", "bool", "int64", "int32")


class Variant(NamedTuple):
    """An element of a variant tensor: the fields of a VariantTensorDataProto.

    The field `tensors` holds serialized tensors.
    """

    type_name: str
    metadata: bytes
    tensors: tuple[bytes, ...] = ()

    def zero(self) -> Variant:
        """Return the zero of the element's type. Raises ValueError for a type that is not
        numeric.
        """
        if self.type_name not in _NUMBERS:
            raise ValueError(
                "No unary variant unary_op function found for unary variant op enum: 1 Variant "
                f"type_name: {self.type_name} for device type: CPU"
            )
        return Variant(self.type_name, bytes(len(self.metadata)))

"""Writes ONNX models without the onnx package, in the few messages of its protocol that they need.

    model = Model()
    x = model.input("x", (2, 3))
    text = model.bytes(model.op("Tanh", model.op("Mul", x, model.constant(array))))

Field numbers are those of onnx.proto3; names of ops and attributes are ONNX's.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Model"]

OPERATORS, IR = 20, 9
TYPES = {np.dtype(np.float32): 1, np.dtype(np.int64): 7}
WHOLE, FIXED, BYTES = 0, 5, 2


def whole(number: int) -> bytes:
    """Return a whole number as a varint."""
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, int):
        return whole(number << 3 | WHOLE) + whole(value)
    if isinstance(value, float):
        return whole(number << 3 | FIXED) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return whole(number << 3 | BYTES) + whole(len(content)) + content


def attribute(name: str, value: int | float | str | Sequence[int]) -> bytes:
    """AttributeProto: its value and its kind."""
    if isinstance(value, float):
        encoded = field(2, value) + field(20, 1)
    elif isinstance(value, int):
        encoded = field(3, value) + field(20, 2)
    elif isinstance(value, str):
        encoded = field(4, value) + field(20, 3)
    else:
        encoded = b"".join(field(8, item) for item in value) + field(20, 7)
    return field(1, name) + encoded


def value_info(name: str, shape: Sequence[int | str], dtype: Any = np.float32) -> bytes:
    """ValueInfoProto of a tensor; the name of a size that varies is its size."""
    sizes = b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, TYPES[np.dtype(dtype)]) + field(2, sizes)))


class Model:
    """A graph as it is built; each value is its name."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._count = 0

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def input(self, name: str, shape: Sequence[int | str], dtype: Any = np.float32) -> str:
        self._parts.append(field(11, value_info(name, shape, dtype)))
        return name

    def constant(self, value: Any) -> str:
        """Return an array of float32 or int64, or a number."""
        array = np.asarray(value, getattr(value, "dtype", np.float32))
        name = self._name()
        sizes = b"".join(field(1, size) for size in array.shape)
        kind = field(2, TYPES[array.dtype])
        tensor = sizes + kind + field(8, name) + field(9, array.tobytes())
        self._parts.append(field(5, tensor))
        return name

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Return the name of its output, and a list of them where there are several."""
        names = [self._name() for _ in range(outputs)]
        parts = [field(1, item) for item in inputs] + [field(2, item) for item in names]
        parts += [field(4, kind), field(3, names[0])]
        parts += [field(5, attribute(*item)) for item in attributes.items()]
        self._parts.append(field(1, b"".join(parts)))
        return names[0] if outputs == 1 else names

    def bytes(self, result: str, shape: Sequence[int]) -> bytes:
        """Return the model with one float32 result."""
        return self.bytes_of([(result, shape, np.float32)])

    def bytes_of(self, results: Sequence[tuple[str, Sequence[int | str], Any]]) -> bytes:
        """Return the model with results of these names, shapes and dtypes."""
        ends = b"".join(field(12, value_info(*result)) for result in results)
        graph = b"".join(self._parts) + field(2, "graph") + ends
        operators = field(1, "") + field(2, OPERATORS)
        return field(1, IR) + field(7, graph) + field(8, operators)

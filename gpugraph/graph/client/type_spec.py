"""TypeSpec: what is known of a value before there is one. Each kind of value has a spec of its own.

A spec is its `_serialize()`: shapes, dtypes, names and flags. Two are equal, or compatible, if
all of these are, one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape

Spec = TypeVar("Spec", bound="TypeSpec")


class TypeSpec(ABC):
    """Base of the specs of tensors, sparse tensors, indexed slices and TensorArrays."""

    __slots__ = ()

    @property
    @abstractmethod
    def value_type(self) -> Any:
        """The class of the values."""

    @abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """The arguments of the constructor."""

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or what another spec stands for, may be what this one stands for."""
        other = spec_of(spec_or_value)
        return type(other) is type(self) and all(
            map(_are_compatible, self._serialize(), other._serialize())
        )

    def most_specific_compatible_type(self: Spec, other: TypeSpec) -> Spec:
        """What holds for both; ValueError where nothing of this kind does."""
        if type(other) is type(self):
            pairs = list(zip(self._serialize(), other._serialize()))
            if all(x == y or isinstance(x, TensorShape) for x, y in pairs):
                return type(self)(*(_common(x, y) for x, y in pairs))
        raise ValueError(f"No TypeSpec is compatible with both {self!r} and {other!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash((type(self), self._serialize()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()


def _common(x: Any, y: Any) -> Any:
    return x.most_specific_compatible_shape(y) if isinstance(x, TensorShape) else x


def _are_compatible(x: Any, y: Any) -> bool:
    if isinstance(x, (TensorShape, DType)) and isinstance(y, (TensorShape, DType)):
        return x.is_compatible_with(y)
    return bool(x == y)


_MAKERS: list[tuple[type, Callable[[Any], TypeSpec]]] = []


def register_spec(kind: type, make: Callable[[Any], TypeSpec]) -> None:
    """Registers how the spec of a value of a class is made."""
    _MAKERS.append((kind, make))


def spec_of(value: Any) -> TypeSpec:
    """The spec of a value, or the value if it is a spec; TypeError for other values."""
    if isinstance(value, TypeSpec):
        return value
    for kind, make in _MAKERS:
        if isinstance(value, kind):
            return make(value)
    raise TypeError(f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}")

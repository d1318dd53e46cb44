"""TypeSpec: the static type of a value. Each kind of value has its own spec class.

A spec is determined by its `_serialize()`: shapes, dtypes, names and flags, nested in tuples and
dicts. Two specs are equal (or compatible) if each item of one serialization is equal to (or
compatible with) the corresponding item of the other. A value is determined by its components: a
structure of tensors and of values that have specs, or the flat list of all tensors in that
structure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from gpugraph.base.dtypes import DType
from gpugraph.base.nest import flatten, pack_sequence_as
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.op_library import as_tensor

Spec = TypeVar("Spec", bound="TypeSpec")


class TypeSpec(ABC):
    """Base class of the specs of tensors, sparse tensors, indexed slices and TensorArrays.

    A subclass defines `value_type`, `_serialize`, `_component_specs`, `_to_components` and
    `_from_components`. The constructor of the subclass accepts the result of `_serialize`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def value_type(self) -> Any:
        """The Python class of the values."""

    @abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """Return the constructor's arguments, with which it creates an equal spec."""

    @property
    @abstractmethod
    def _component_specs(self) -> Any:
        """The specs of the components, in the same structure as the components."""

    @abstractmethod
    def _to_components(self, value: Any) -> Any:
        """Return the components of a value that is compatible with this spec."""

    @abstractmethod
    def _from_components(self, components: Any) -> Any:
        """Return the value with these components."""

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        """The specs of the tensors in `_to_tensor_list`, in the same order."""
        return _flat(self._component_specs)

    def _to_tensor_list(self, value: Any) -> list[Any]:
        """Return the flat list of all tensors in a value."""
        return flatten(self._to_components(value), expand_composites=True)

    def _from_tensor_list(self, tensor_list: Any) -> Any:
        """Return the value whose flat list of tensors is `tensor_list`.

        Raises ValueError if the number, a shape or a dtype of the tensors does not match this spec.
        """
        expected = self._flat_tensor_specs
        if len(tensor_list) != len(expected):
            raise ValueError("Incompatible input: wrong number of tensors")
        for index, (tensor, spec) in enumerate(zip(tensor_list, expected)):
            if not type_spec_from_value(tensor).is_compatible_with(spec):
                raise ValueError(
                    f"Incompatible input: tensor {index} ({tensor}) is incompatible with {spec}"
                )
        return self._from_compatible_tensor_list(tensor_list)

    def _from_compatible_tensor_list(self, tensor_list: Any) -> Any:
        """Return the value whose flat list of tensors is `tensor_list`, without the checks of
        `_from_tensor_list`.
        """
        return self._from_components(_composed(self._component_specs, iter(tensor_list)))

    @classmethod
    def _deserialize(cls, serialization: Any) -> Any:
        """Return the spec whose `_serialize()` returns `serialization`."""
        return cls(*serialization)

    def _to_legacy_output_types(self) -> Any:
        """Return the dtypes as a structure, as datasets' older methods such as `output_types`
        do.
        """
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_types()")

    def _to_legacy_output_shapes(self) -> Any:
        """Return the shapes as a structure, as datasets' older methods such as `output_shapes`
        do.
        """
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_shapes()")

    def _to_legacy_output_classes(self) -> Any:
        """Return the classes as a structure, as datasets' older methods such as `output_classes`
        do.
        """
        return self.value_type

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value or another spec is compatible with this spec."""
        other = type_spec_from_value(spec_or_value)
        return type(other) is type(self) and _are_compatible(self._serialize(), other._serialize())

    def most_specific_compatible_type(self: Spec, other: TypeSpec) -> Spec:
        """Return the most specific spec that is compatible with this spec and `other`. Raises
        ValueError if no such spec exists.
        """
        if type(other) is not type(self):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)._deserialize(_common(self._serialize(), other._serialize()))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return type(self), _comparable(self._serialize(), type(self).__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()


class BatchableTypeSpec(TypeSpec):
    """Base class of the specs of values that are batched by stacking their flat tensors."""

    __slots__ = ()

    @abstractmethod
    def _batch(self, batch_size: int | None) -> Any:
        """Return the spec of a batch of `batch_size` values. None means an unknown number of
        values.
        """

    @abstractmethod
    def _unbatch(self) -> Any:
        """Return the spec of one value in a batch that has this spec."""

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        """Return the flat tensors of a batched value.

        Raises ValueError if one of the tensors is a scalar.
        """
        tensors = self._to_tensor_list(value)
        if any(tensor.shape.rank == 0 for tensor in tensors):
            raise ValueError(f"Value {value} has insufficient rank for batching.")
        return tensors


class ShapedTypeSpec(BatchableTypeSpec):
    """Base class of the specs that are determined by one shape and one dtype."""

    __slots__ = ()

    _shape: TensorShape
    _dtype: DType

    def _batch(self, batch_size: int | None) -> Any:
        shape = TensorShape([batch_size]).concatenate(self._shape)
        return type(self)(shape, self._dtype)  # type: ignore[call-arg]

    def _unbatch(self) -> Any:
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return type(self)(self._shape[1:], self._dtype)  # type: ignore[call-arg]

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape


def _flat(specs: Any) -> list[Any]:
    """Return the specs of all tensors in a structure of specs. Specs of composite values are
    replaced by the specs of their components.
    """
    return [
        part
        for leaf in flatten(specs)
        for part in ([leaf] if leaf._component_specs is leaf else _flat(leaf._component_specs))
    ]


def _composed(specs: Any, tensors: Iterator[Any]) -> Any:
    """Return values of these specs, in the same structure, built from the next items of the
    iterator `tensors`.
    """
    leaves = [
        next(tensors)
        if leaf._component_specs is leaf
        else leaf._from_components(_composed(leaf._component_specs, tensors))
        for leaf in flatten(specs)
    ]
    return pack_sequence_as(specs, leaves)


def _comparable(value: Any, owner: str) -> Any:
    """Return a hashable form of an item of a serialization. Raises ValueError for an unsupported
    type.

    Args:
      owner: the name of the spec class, for the message.
    """
    if value is None or isinstance(value, (int, float, str, bytes, DType, TypeSpec)):
        return value
    if isinstance(value, TensorShape):
        return TensorShape, value.sizes
    if isinstance(value, dict):
        return tuple((key, _comparable(value[key], owner)) for key in sorted(value))
    if isinstance(value, tuple):
        return tuple(_comparable(part, owner) for part in value)
    if hasattr(value, "tolist"):
        return type(value), value.shape, _as_tuple(value.tolist())
    raise ValueError(
        f"Unsupported value type {type(value).__name__} returned by {owner}._serialize"
    )


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _common(x: Any, y: Any) -> Any:
    """Return the most specific serialization that is compatible with `x` and with `y`.

    Raises ValueError if `x` and `y` differ in anything but shapes.
    """
    if type(x) is type(y):
        if isinstance(x, TensorShape):
            return x.most_specific_compatible_shape(y)
        if isinstance(x, TypeSpec):
            return x.most_specific_compatible_type(y)
        if isinstance(x, tuple) and len(x) == len(y):
            return tuple(map(_common, x, y))
        if isinstance(x, dict) and sorted(x) == sorted(y):
            return {key: _common(x[key], y[key]) for key in sorted(x)}
        if not isinstance(x, (tuple, dict)) and x == y:
            return x
    raise ValueError(f"Types are not compatible: {x!r} vs {y!r}")


def _are_compatible(x: Any, y: Any) -> bool:
    if type(x) is not type(y):
        return False
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(_are_compatible, x, y))
    if isinstance(x, dict):
        return sorted(x) == sorted(y) and all(_are_compatible(x[key], y[key]) for key in x)
    if isinstance(x, (TypeSpec, TensorShape, DType)):
        return x.is_compatible_with(y)
    return bool(x == y)


_MAKERS: list[tuple[type, Callable[[Any], TypeSpec], bool]] = []


def register_type_spec_from_value_converter(
    type_object: type, converter_fn: Callable[[Any], Any], allow_subclass: bool = False
) -> None:
    """Register a function that returns the spec of a value, for values of the class `type_object`.

    The function that was registered last is tried first.

    Args:
      allow_subclass: whether the function also applies to subclasses of `type_object`.
    """
    _MAKERS.append((type_object, converter_fn, allow_subclass))


def type_spec_from_value(value: Any) -> TypeSpec:
    """Return the spec of a value. A spec is returned unchanged.

    A list of values that have specs of one batchable class gets the spec of a batch. A value
    without a registered spec gets a TensorSpec if it can be converted to a tensor. Raises TypeError
    for other values.
    """
    if isinstance(value, TypeSpec):
        return value
    spec = _registered(value)
    if spec is None:
        with suppress(TypeError, ValueError):
            spec = _registered(as_tensor(value))
    if spec is None:
        kind = type(value).__name__
        raise TypeError(f"Could not build a TypeSpec for {value!r} with type {kind}")
    return spec


def _registered(value: Any) -> TypeSpec | None:
    if isinstance(value, list) and value:
        batch = _of_batch([_registered(part) for part in value])
        if batch is not None:
            return batch
    for kind, make, allows_subclasses in reversed(_MAKERS):
        if type(value) is kind or (allows_subclasses and isinstance(value, kind)):
            return make(value)
    return None


def _of_batch(specs: list[Any]) -> TypeSpec | None:
    """Return the spec of a batch of values with these specs.

    Return None if no single spec is compatible with all specs.
    """
    common = specs[0]
    if not isinstance(common, BatchableTypeSpec):
        return None
    try:
        for spec in specs[1:]:
            common = common.most_specific_compatible_type(spec)
    except ValueError:
        return None
    batch: TypeSpec = common._batch(len(specs))
    return batch

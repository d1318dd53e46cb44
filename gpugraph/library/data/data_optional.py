"""Optional: an element of a dataset, or nothing."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import variant
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.client.type_spec import TypeSpec
from gpugraph.library.data.element_structure import (
    flat_attrs,
    from_tensor_list,
    normalize_element,
    to_tensor_list,
    type_spec_from_value,
)
from gpugraph.ops.framework.op_declaration import raw_ops


class Optional:
    """A structure of tensors that may be missing. A scalar variant tensor holds the structure."""

    def __init__(self) -> None:
        raise TypeError("Make optionals by Optional.from_value and Optional.none_from_structure")

    @classmethod
    def _of(cls, tensor: Tensor, spec: Any) -> Any:
        optional = object.__new__(cls)
        optional._variant_tensor = tensor
        optional._element_spec = spec
        return optional

    _variant_tensor: Tensor
    _element_spec: Any

    def has_value(self, name: str | None = None) -> Tensor:
        """Return a bool scalar tensor that is True if there is a value."""
        result: Tensor = raw_ops.OptionalHasValue(self._variant_tensor, name=name)
        return result

    def get_value(self, name: str | None = None) -> Any:
        """Return the value. If the optional is empty, a run raises InvalidArgumentError."""
        tensors = raw_ops.OptionalGetValue(
            self._variant_tensor, name=name, **flat_attrs(self._element_spec)
        )
        return from_tensor_list(self._element_spec, tensors)

    @property
    def value_structure(self) -> Any:
        """The specs of the value's components, in the structure of the value."""
        return self._element_spec

    element_spec = value_structure

    @staticmethod
    def from_value(value: Any) -> Any:
        """Return an optional that contains a value."""
        element = normalize_element(value)
        spec = type_spec_from_value(element)
        tensor = raw_ops.OptionalFromValue(to_tensor_list(spec, element))
        return Optional._of(tensor, spec)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Any:
        """Return an empty optional.

        Args:
          value_structure: the specs of the components of the value that the optional could contain.
        """
        return Optional._of(raw_ops.OptionalNone(), value_structure)

    empty = none_from_structure

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._element_spec)


class OptionalSpec(TypeSpec):
    """The spec of an optional. The spec contains the structure of specs of the optional's value."""

    __slots__ = ("_value_structure",)

    def __init__(self, value_structure: Any) -> None:
        self._value_structure = value_structure

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """Return the spec of an optional."""
        return OptionalSpec(value.value_structure)

    @property
    def value_type(self) -> Any:
        """The Python class of the values with this spec."""
        return Optional

    def _serialize(self) -> tuple[Any, ...]:
        return (self._value_structure,)

    @property
    def _component_specs(self) -> Any:
        return TensorSpec([], variant)

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [self._component_specs]

    def _to_components(self, value: Any) -> Any:
        return value._variant_tensor

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [value._variant_tensor]

    def _from_components(self, components: Any) -> Any:
        return Optional._of(components, self._value_structure)

    def _from_compatible_tensor_list(self, tensor_list: Any) -> Any:
        return self._from_components(tensor_list[0])

    def _to_legacy_output_types(self) -> Any:
        return self

    _to_legacy_output_shapes = _to_legacy_output_classes = _to_legacy_output_types

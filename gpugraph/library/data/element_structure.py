"""The structure of a dataset's elements: nested tuples and dicts of specs. Converts elements to
lists of tensors.

An element is a structure of tensors, sparse tensors, TensorArrays, datasets and optionals. Dataset
ops represent an element as a flat list of the tensors of all its components.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, variant
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.client.type_spec import TypeSpec, type_spec_from_value as registered_spec
from gpugraph.library.data import data_nest
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.sparse.sparse_tensor_spec import SparseTensorSpec
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray
from gpugraph.ops.tensor_arrays.tensor_array_spec import TensorArraySpec


def type_spec_from_value(element: Any) -> Any:
    """Return the structure of the specs of an element's components. Raises TypeError if a value has
    no spec.
    """
    if data_nest.is_sequence(element):
        return data_nest.map_structure(type_spec_from_value, element)
    return _leaf_spec(element)


def _leaf_spec(value: Any) -> TypeSpec:
    if isinstance(value, TypeSpec):
        return value
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    if hasattr(value, "_type_spec"):
        return value._type_spec
    if isinstance(value, (list, float, int, str, bytes)) or not isinstance(
        value, (SparseTensor, TensorArray)
    ):
        tensor = convert_to_tensor(value)
        return TensorSpec(tensor.shape, tensor.dtype.base_dtype)
    return registered_spec(value)


def normalize_element(element: Any) -> Any:
    """Return the element with its arrays, numbers and strings converted to tensors."""
    with name_scope("normalize_element"):
        leaves = [
            _normalized(leaf, f"component_{number}")
            for number, leaf in enumerate(data_nest.flatten(element))
        ]
    return data_nest.pack_sequence_as(element, leaves)


def _normalized(leaf: Any, name: str) -> Any:
    if isinstance(leaf, (SparseTensor, TensorArray)) or hasattr(leaf, "_type_spec"):
        return leaf
    if hasattr(leaf, "dense_shape") and hasattr(leaf, "indices"):
        return SparseTensor.from_value(leaf)
    return convert_to_tensor(leaf, name=name)


def to_tensor_list(spec: Any, element: Any) -> list[Tensor]:
    """Return the flat list of tensors of an element."""
    return [
        tensor
        for one, leaf in zip(data_nest.flatten(spec), data_nest.flatten(element))
        for tensor in _tensors(one, leaf)
    ]


def _tensors(spec: Any, leaf: Any) -> Sequence[Tensor]:
    if isinstance(spec, TensorSpec):
        return [convert_to_tensor(leaf, dtype=spec.dtype)]
    return spec._to_tensor_list(leaf)


def to_batched_tensor_list(spec: Any, element: Any) -> list[Tensor]:
    """Return the flat list of tensors of a batch, whose rows are elements. Raises ValueError if a
    tensor is a scalar.
    """
    tensors: list[Tensor] = []
    for one, leaf in zip(data_nest.flatten(spec), data_nest.flatten(element)):
        tensors += one._to_batched_tensor_list(leaf)
    return tensors


def from_tensor_list(spec: Any, tensors: Sequence[Any]) -> Any:
    """Return the element with this flat list of tensors."""
    rest, leaves = list(tensors), []
    for one in data_nest.flatten(spec):
        count = len(one._flat_tensor_specs)
        if isinstance(one, TensorSpec):
            leaves.append(rest[0])
        else:
            leaves.append(one._from_compatible_tensor_list(rest[:count]))
        del rest[:count]
    return data_nest.pack_sequence_as(spec, leaves)


def flat_specs(spec: Any) -> list[TensorSpec]:
    """Return the specs of an element's flat list of tensors."""
    return [part for one in data_nest.flatten(spec) for part in one._flat_tensor_specs]


def flat_attrs(spec: Any) -> dict[str, Any]:
    """Return the attrs of an op that outputs elements with these specs: the dtypes and shapes of
    all tensors.
    """
    specs = flat_specs(spec)
    return {
        "output_types": [one.dtype for one in specs],
        "output_shapes": [one.shape for one in specs],
    }


def flat_shapes(spec: Any) -> list[TensorShape]:
    """Return the shapes of an element's flat list of tensors."""
    return [one.shape for one in flat_specs(spec)]


def batched(spec: Any, size: int | None) -> Any:
    """Return the structure of specs of batches of elements that have the structure `spec`."""
    return data_nest.map_structure(lambda one: one._batch(size), spec)


def unbatched(spec: Any) -> Any:
    """Return the structure of specs of elements that are rows of elements with the structure
    `spec`. Raises ValueError for scalars.
    """
    return data_nest.map_structure(lambda one: one._unbatch(), spec)


def legacy_types(spec: Any) -> Any:
    """Return the dtypes of the elements' components, in the structure of `spec`."""
    return data_nest.map_structure(lambda one: one._to_legacy_output_types(), spec)


def legacy_shapes(spec: Any) -> Any:
    """Return the shapes of the elements' components, in the structure of `spec`."""
    return data_nest.map_structure(lambda one: one._to_legacy_output_shapes(), spec)


def legacy_classes(spec: Any) -> Any:
    """Return the Python classes of the elements' components, in the structure of `spec`."""
    return data_nest.map_structure(lambda one: one._to_legacy_output_classes(), spec)


def from_legacy(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """Return the structure of specs that corresponds to structures of dtypes, shapes and
    classes.
    """
    types = data_nest.flatten(output_types)
    shapes = data_nest.flatten_up_to(output_types, output_shapes)
    classes = data_nest.flatten_up_to(output_types, output_classes)
    specs = [_of_legacy(*parts) for parts in zip(types, shapes, classes)]
    return data_nest.pack_sequence_as(output_types, specs)


def _of_legacy(dtype: Any, shape: Any, kind: Any) -> Any:
    if isinstance(kind, TypeSpec):
        return kind
    if kind is SparseTensor:
        return SparseTensorSpec(shape, dtype)
    if kind is TensorArray:
        sizes = as_shape(shape)
        return TensorArraySpec(sizes[2:], dtype, *map(bool, (sizes.sizes or (0, 0))[:2]))
    if kind is Tensor:
        return TensorSpec(shape, dtype)
    raise TypeError(
        f"Could not build a structure for output class {getattr(kind, '__name__', kind)}."
    )


def are_compatible(one: Any, other: Any) -> bool:
    """Return whether two structures of specs have the same nesting and compatible specs."""
    try:
        data_nest.assert_same_structure(one, other)
    except (TypeError, ValueError):
        return False
    pairs = zip(data_nest.flatten(one), data_nest.flatten(other))
    return all(left.is_compatible_with(right) for left, right in pairs)


def parsed_types(types: Any) -> Any:
    """Return a structure in which each type is converted to a DType."""
    return data_nest.map_structure(as_dtype, types)


def variant_spec() -> TensorSpec:
    """Return the spec of a variant scalar, which holds a dataset or an optional."""
    return TensorSpec([], variant)


def is_type(value: Any) -> bool:
    """Return whether a value is a DType or can be converted to one."""
    return isinstance(value, DType)

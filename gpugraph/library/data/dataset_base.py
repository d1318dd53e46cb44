"""The base class of datasets: a variant tensor, the structure of the elements, and options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import int64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.client.type_spec import TypeSpec
from gpugraph.library.data.data_options import Options, merge_options
from gpugraph.library.data.element_structure import (
    flat_attrs,
    legacy_classes,
    legacy_shapes,
    legacy_types,
    variant_spec,
)
from gpugraph.library.data.structured_function import StructuredFunction
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.random.seeds_and_streams import get_seed

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


class DatasetBase:
    """A dataset: a scalar variant tensor, and the structure of its elements.

    `element_spec` is this structure. `inputs` are the datasets from which this dataset is computed.
    """

    def __init__(
        self, variant_tensor: Tensor, spec: Any = None, inputs: Sequence[Any] = ()
    ) -> None:
        self._variant_tensor_attr = variant_tensor
        self._element_spec = spec
        self._input_datasets = list(inputs)
        self._options_attr = Options()
        self._graph_attr = get_default_graph()
        for one in inputs:
            self._options_attr = merge_options(self._options_attr, one.options())

    @property
    def _variant_tensor(self) -> Tensor:
        return self._variant_tensor_attr

    @property
    def element_spec(self) -> Any:
        """The specs of the components of an element, in the structure of the element."""
        return self._element_spec

    @property
    def _graph(self) -> Any:
        return self._graph_attr

    def _inputs(self) -> list[Any]:
        return self._input_datasets

    def options(self) -> Options:
        """Return the options of this dataset, merged with the options of its input datasets."""
        return self._options_attr

    @property
    def _flat_structure(self) -> dict[str, Any]:
        return flat_attrs(self.element_spec)

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec, version_2=self._is_v2)

    _is_v2 = True

    @classmethod
    def _of(cls, variant_tensor: Tensor, spec: Any, inputs: Sequence[Any] = ()) -> Any:
        """Return a dataset that has the same API version (1 or 2) as this class."""
        return cls._plain_class()(variant_tensor, spec, inputs)

    @classmethod
    def _plain_class(cls) -> type[DatasetBase]:
        return DatasetBase

    def _same(self, variant_tensor: Tensor) -> Any:
        """Return a dataset with the same API version and element structure as this one."""
        return self._of(variant_tensor, self.element_spec, [self])

    def __repr__(self) -> str:
        shapes, types = legacy_shapes(self.element_spec), legacy_types(self.element_spec)
        shapes = str(shapes).replace("'", "")
        types = str(types).replace("'", "")
        return f"<{type(self).__name__} shapes: {shapes}, types: {types}>"

    def __iter__(self) -> Any:
        raise RuntimeError(
            "__iter__() is only supported inside of tf.function or when eager execution is enabled."
        )

    def __bool__(self) -> bool:
        return True

    # -- shared by transformations

    def _function(self, function: Callable[..., Any], method: str) -> StructuredFunction:
        return StructuredFunction(function, method, self.element_spec)


class DatasetSpec(TypeSpec):
    """The spec of a dataset that is a component of an element.

    The spec contains the structure of specs of the inner dataset's elements.
    """

    __slots__ = ("_dataset_shape", "_element_spec", "_version_2")

    def __init__(self, element_spec: Any, dataset_shape: Any = (), version_2: bool = False) -> None:
        self._element_spec = element_spec
        self._dataset_shape = dataset_shape
        self._version_2 = version_2

    @property
    def value_type(self) -> Any:
        """The Python class of the values with this spec."""
        return DatasetBase

    @property
    def element_spec(self) -> Any:
        """The structure of specs of the inner dataset's elements."""
        return self._element_spec

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape

    @property
    def _component_specs(self) -> Any:
        return TensorSpec(self._dataset_shape, variant_spec().dtype)

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [self._component_specs]

    def _to_components(self, value: Any) -> Any:
        return value._variant_tensor

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [value._variant_tensor]

    def _from_components(self, components: Any) -> Any:
        kind = DATASET_CLASSES[self._version_2]
        return kind(components, self._element_spec)

    def _from_compatible_tensor_list(self, tensor_list: Any) -> Any:
        return self._from_components(tensor_list[0])

    def _batch(self, batch_size: int | None) -> Any:
        return DatasetSpec(self._element_spec, TensorShape([batch_size]), self._version_2)

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        return [value._variant_tensor]

    def _unbatch(self) -> Any:
        return DatasetSpec(self._element_spec, (), self._version_2)

    def _to_legacy_output_types(self) -> Any:
        return self

    _to_legacy_output_shapes = _to_legacy_output_classes = _to_legacy_output_types


DATASET_CLASSES: dict[bool, Any] = {}
"""By API version (False: 1, True: 2), the class that wraps a variant tensor in a dataset."""


def variant_of(dataset: Any) -> Tensor:
    """Return the variant tensor of a dataset. Raises TypeError for any other object."""
    if not isinstance(dataset, DatasetBase):
        raise TypeError(
            f"`dataset` must be a `tf.data.Dataset` object. Got {type(dataset).__name__}: {dataset}"
        )
    return dataset._variant_tensor


def int64_tensor(value: Any, name: str) -> Tensor:
    """Return a number as an int64 tensor."""
    return convert_to_tensor(value, dtype=int64, name=name)


def seed_tensors(seed: Any) -> tuple[Tensor, Tensor]:
    """Return the graph's seed and the op's seed as tensors. The seeds (0, 0) mean that random seeds
    are used.
    """
    first, second = get_seed(seed)
    if first is None:
        return (constant(0, dtype=int64, name="seed"), constant(0, dtype=int64, name="seed2"))
    seed_tensor = convert_to_tensor(first, dtype=int64, name="seed")
    with name_scope("seed2") as scope:
        seed2 = convert_to_tensor(second, dtype=int64)
        both = raw_ops.LogicalAnd(raw_ops.Equal(seed_tensor, 0), raw_ops.Equal(seed2, 0))
        largest = constant(2**31 - 1, dtype=int64)
        return seed_tensor, raw_ops.Select(both, largest, seed2, name=scope)


def _of_spec(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: convert(self.element_spec)


def legacy_properties(kind: Any) -> Any:
    """Add to a class the properties that only datasets of version 1 have."""
    for name, convert in (
        ("output_types", legacy_types),
        ("output_shapes", legacy_shapes),
        ("output_classes", legacy_classes),
    ):
        setattr(kind, name, property(_of_spec(convert)))
    return kind

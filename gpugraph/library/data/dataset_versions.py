"""The classes of datasets: `DatasetV2`, and `DatasetV1`, which has TensorFlow 1's iterators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.functions.function_tracing import trace
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.data.dataset_base import (
    DATASET_CLASSES,
    DatasetBase,
    legacy_properties,
    variant_of,
)
from gpugraph.library.data.dataset_sources import DatasetSources
from gpugraph.library.data.dataset_transformations import DatasetTransformations
from gpugraph.library.data.element_structure import (
    flat_attrs,
    legacy_classes,
    legacy_shapes,
    legacy_types,
)
from gpugraph.library.data.iterators import Iterator, check_graph, make_initializable
from gpugraph.ops.framework.op_declaration import raw_ops


class DatasetV2(DatasetTransformations, DatasetSources):
    """The class of datasets in `tf.compat.v2.data`."""

    @classmethod
    def _plain_class(cls) -> type[DatasetBase]:
        return DatasetV2


@legacy_properties
class DatasetV1(DatasetV2):
    """The class of datasets in `tf.data`. Unlike DatasetV2, a DatasetV1 has methods that create
    iterators.
    """

    _is_v2 = False

    @classmethod
    def _plain_class(cls) -> type[DatasetBase]:
        return DatasetV1Adapter

    def make_one_shot_iterator(self) -> Iterator:
        """Return an iterator that needs no initialization and iterates over the dataset once.

        Raises ValueError if the dataset depends on placeholders, variables or other state.
        """
        return self._make_one_shot_iterator()

    def _make_one_shot_iterator(self) -> Iterator:
        graph = get_default_graph()
        check_graph(self)
        try:
            factory = trace(
                lambda: self._variant_tensor, [], "make_dataset", captures_by_value=True
            )
        except ValueError as error:
            if "Cannot capture a stateful node" in str(error):
                raise ValueError(
                    "Failed to create a one-shot iterator for a dataset. "
                    "`Dataset.make_one_shot_iterator()` does not support datasets that capture "
                    "stateful objects, such as a `Variable` or `LookupTable`. In these cases, use "
                    f"`Dataset.make_initializable_iterator()`. (Original error: {error})"
                ) from error
            raise
        factory.add_to(graph)
        resource = raw_ops.OneShotIterator(dataset_factory=factory, **flat_attrs(self.element_spec))
        return Iterator._of(resource, None, self.element_spec)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Return an iterator. A run of its `initializer` moves the iterator to the first element.

        Args:
          shared_name: iterators with the same name share their position among all sessions of a
            server.
        """
        return make_initializable(self, shared_name)

    _make_initializable_iterator = make_initializable_iterator

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Any:
        """Return a dataset of the elements for which `predicate` returns true."""
        return self.filter(predicate)

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None
    ) -> Any:
        """Return a dataset of the results of `map_func` for the elements."""
        return self.map(map_func, num_parallel_calls)

    def _as_version_1(self) -> DatasetV1:
        return self


class DatasetV1Adapter(DatasetV1):
    """A DatasetV1 that wraps a variant tensor or a dataset of `tf.compat.v2.data`."""

    def __init__(self, dataset: Any, spec: Any = None, inputs: Any = ()) -> None:
        if isinstance(dataset, DatasetBase):
            super().__init__(dataset._variant_tensor, dataset.element_spec, [dataset])
        else:
            super().__init__(dataset, spec, inputs)


DATASET_CLASSES[False], DATASET_CLASSES[True] = DatasetV1Adapter, DatasetV2


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """Return an iterator that needs no initialization and iterates over `dataset` once."""
    if hasattr(dataset, "_make_one_shot_iterator"):  # also a distributed dataset
        return dataset._make_one_shot_iterator()
    variant_of(dataset)
    return DatasetV1Adapter(dataset).make_one_shot_iterator()


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Return an iterator over `dataset`. A run of its `initializer` moves the iterator to the first
    element.
    """
    if hasattr(dataset, "_make_initializable_iterator"):
        return dataset._make_initializable_iterator(shared_name)
    return make_initializable(dataset, shared_name)


def get_legacy_output_types(dataset_or_iterator: Any) -> Any:
    """Return the dtypes of the elements of a dataset or an iterator."""
    return legacy_types(get_structure(dataset_or_iterator))


def get_legacy_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shapes of the elements of a dataset or an iterator."""
    return legacy_shapes(get_structure(dataset_or_iterator))


def get_legacy_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of the elements of a dataset or an iterator."""
    return legacy_classes(get_structure(dataset_or_iterator))


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the structure of specs of the elements. Raises TypeError unless the argument is a
    dataset or an iterator.
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "`dataset_or_iterator` must be a `tf.data.Dataset` or tf.data.Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        ) from None


def to_variant(dataset: Any) -> Tensor:
    """Return the variant tensor of a dataset."""
    return variant_of(dataset)


def from_variant(variant: Tensor, structure: Any) -> DatasetV1Adapter:
    """Return a dataset that wraps a variant tensor.

    Args:
      structure: the structure of specs of the dataset's elements.
    """
    return DatasetV1Adapter(variant, structure)

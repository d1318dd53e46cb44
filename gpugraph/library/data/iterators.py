"""Iterators: positions in datasets. Runs of a session advance iterators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import string
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.default_graph_functions import colocate_with, get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.client.type_spec import TypeSpec
from gpugraph.library.data import data_nest
from gpugraph.library.data.data_optional import Optional
from gpugraph.library.data.dataset_base import legacy_properties, variant_of
from gpugraph.library.data.element_structure import (
    are_compatible,
    flat_attrs,
    from_legacy,
    from_tensor_list,
    legacy_classes,
    legacy_shapes,
    legacy_types,
    parsed_types,
)
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.platform import logging

GET_NEXT_CALL_WARNING_THRESHOLD = 32
GET_NEXT_CALL_WARNING_MESSAGE = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates "
    "that `Iterator.get_next()` is being called inside a training loop, which will cause gradual "
    "slowdown and eventual resource exhaustion. If this is the case, restructure your code to call "
    "`next_element = iterator.get_next()` once outside the loop, and use `next_element` as the "
    "input to some computation that is invoked inside the loop."
)

GLOBAL_ITERATORS = "iterators"
"""The graph collection of all iterators."""


@legacy_properties
class Iterator:
    """A position in a dataset. A run of the op `initializer` moves the iterator to the first
    element.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
    ) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._spec = from_legacy(output_types, output_shapes, output_classes)
        self._string_handle: Tensor = raw_ops.IteratorToStringHandle(iterator_resource)
        self._get_next_call_count = 0
        iterator_resource.graph.add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @classmethod
    def _of(cls, resource: Tensor, initializer: Operation | None, spec: Any) -> Any:
        parts = legacy_types(spec), legacy_shapes(spec), legacy_classes(spec)
        iterator = cls(resource, initializer, *parts)
        iterator._spec = spec
        return iterator

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:  # fmt: skip
        """Return an iterator without a dataset, for elements of the given structure.

        A run of an op from `make_initializer` sets the dataset.
        """
        types = parsed_types(output_types)
        spec = _structure(types, output_shapes, output_classes)
        resource = raw_ops.IteratorV2(
            container="", shared_name=shared_name or "", **flat_attrs(spec)
        )
        return Iterator._of(resource, None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """Return the iterator with the given string handle, for elements of the given structure."""
        spec = _structure(parsed_types(output_types), output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, dtype=string)
        with colocate_with(handle):
            resource = raw_ops.IteratorFromStringHandleV2(handle, **flat_attrs(spec))
        return Iterator._of(resource, None, spec)

    @property
    def initializer(self) -> Operation:
        """The op that initializes the iterator. Raises ValueError for a one-shot iterator, which
        needs no initialization.
        """
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Return an op that initializes the iterator with a dataset.

        Raises TypeError if the dtypes, shapes or classes of the dataset's elements differ from the
        iterator's.
        """
        ours, other = self._spec, dataset.element_spec
        data_nest.assert_same_structure(legacy_types(ours), legacy_types(other))
        data_nest.assert_same_structure(legacy_shapes(ours), legacy_shapes(other))
        for what, first, second in zip(
            ("classes", "types"),
            (legacy_classes(ours), legacy_types(ours)),
            (legacy_classes(other), legacy_types(other)),
        ):
            pairs = zip(data_nest.flatten(first), data_nest.flatten(second))
            for expected, actual in pairs:
                if expected != actual:
                    raise TypeError(
                        f"Expected output {what} {first!r} but got dataset with output {what} "
                        f"{second!r}."
                    )
        if not are_compatible(ours, other):
            raise TypeError(
                f"Expected output shapes compatible with {legacy_shapes(ours)!r} but got dataset "
                f"with output shapes {legacy_shapes(other)!r}."
            )
        check_graph(dataset)
        with colocate_with(self._iterator_resource):
            operation: Operation = raw_ops.MakeIterator(
                dataset._variant_tensor, self._iterator_resource, name=name or "make_initializer"
            )
        return operation

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element. Each run that computes its tensors advances the iterator.

        A run raises OutOfRangeError at the end of the dataset.
        """
        self._get_next_call_count += 1
        if self._get_next_call_count > GET_NEXT_CALL_WARNING_THRESHOLD:
            logging.warning(GET_NEXT_CALL_WARNING_MESSAGE)
        with colocate_with(self._iterator_resource):
            results: Sequence[Tensor] = raw_ops.IteratorGetNext(
                self._iterator_resource, name=name, **flat_attrs(self._spec)
            )
        return from_tensor_list(self._spec, results)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Return a string tensor whose value identifies the iterator. The value can be passed to
        `from_string_handle`.
        """
        if name is None:
            return self._string_handle
        handle: Tensor = raw_ops.IteratorToStringHandle(self._iterator_resource, name=name)
        return handle

    @property
    def element_spec(self) -> Any:
        """The specs of the components of an element, in the structure of the element."""
        return self._spec

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self._spec)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {}


class IteratorSpec(TypeSpec):
    """The spec of an iterator. The spec contains the structure of specs of the iterator's
    elements.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> Any:
        """The Python class of the values with this spec."""
        return Iterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> Any:
        return TensorSpec([], "resource")

    def _to_components(self, value: Any) -> Any:
        return value._iterator_resource

    def _from_components(self, components: Any) -> Any:
        return Iterator._of(components, None, self._element_spec)


def _structure(types: Any, shapes: Any, classes: Any) -> Any:
    if shapes is None:
        shapes = data_nest.map_structure(lambda _: TensorShape(None), types)
    else:
        shapes = data_nest.map_structure_up_to(types, as_shape, shapes)
    if classes is None:
        classes = data_nest.map_structure(lambda _: Tensor, types)
    data_nest.assert_same_structure(types, shapes)
    return from_legacy(types, shapes, classes)


def check_graph(dataset: Any) -> None:
    """Raise ValueError unless the dataset belongs to the default graph."""
    graph = variant_of(dataset).graph
    if graph is not get_default_graph():
        raise ValueError(
            f"The graph ({get_default_graph()}) of the iterator is different from the graph "
            f"({graph}) the dataset: {dataset._variant_tensor} was created in. Please ensure that "
            "all datasets in the pipeline are created in the graph of the iterator, for example in "
            "the input_fn."
        )


def make_initializable(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Return an iterator over `dataset`. A run of its `initializer` moves the iterator to the first
    element.
    """
    check_graph(dataset)
    spec = dataset.element_spec
    with colocate_with(dataset._variant_tensor):
        resource = raw_ops.IteratorV2(
            container="", shared_name=shared_name or "", **flat_attrs(spec)
        )
        initializer = raw_ops.MakeIterator(dataset._variant_tensor, resource)
    return Iterator._of(resource, initializer, spec)


def get_next_as_optional(iterator: Any) -> Any:
    """Return the next element of an iterator as an `Optional`, which is empty at the end of the
    dataset.
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"`iterator` must be a `tf.data.Iterator`, not {iterator!r}")
    with colocate_with(iterator._iterator_resource):
        tensor = raw_ops.IteratorGetNextAsOptional(
            iterator._iterator_resource, **flat_attrs(iterator.element_spec)
        )
    return Optional._of(tensor, iterator.element_spec)

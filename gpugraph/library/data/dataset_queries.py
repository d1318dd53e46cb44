"""Functions from a dataset to a tensor: the number of its elements, and its only element."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.data.dataset_base import variant_of
from gpugraph.library.data.element_structure import flat_attrs, from_tensor_list
from gpugraph.ops.framework.op_declaration import raw_ops


def cardinality(dataset: Any) -> Tensor:
    """Return the number of elements. The result is -1 if the dataset is infinite, and -2 if the
    number is unknown.
    """
    number: Tensor = raw_ops.DatasetCardinality(variant_of(dataset))
    return number


def get_single_element(dataset: Any) -> Any:
    """Return the only element of a dataset.

    Raises TypeError for anything but a dataset. A run raises InvalidArgumentError unless there is
    exactly one element.
    """
    variant, spec = variant_of(dataset), dataset.element_spec
    return from_tensor_list(spec, raw_ops.DatasetToSingleElement(variant, **flat_attrs(spec)))

"""Classes of TensorFlow's internals that programs pass to `isinstance` or subclass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from gpugraph.building.control_flow.context_base import ControlFlowContext
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


class EagerTensor:
    """The class of eager tensors, which have values. Tensors of a graph are not instances of it."""


class CompositeTensor(ABC):
    """Base class of values that consist of several tensors."""

    @property
    @abstractmethod
    def _type_spec(self) -> Any:
        """The spec, with the dtypes and shapes of the tensors."""

    def _is_graph_tensor(self) -> bool:
        """Return True."""
        return True


CompositeTensor.register(SparseTensor)
CompositeTensor.register(IndexedSlices)


class XLAControlFlowContext(ControlFlowContext):
    """Base class of XLA contexts. No context of this package is an instance of it."""

    def IsXLAContext(self) -> bool:
        """Return True."""
        return True

"""Composite tensors, which are values that consist of several tensors. Some functions of tensors
also accept composite tensors.

`sparse_tensor.SparseTensor` is a composite tensor. It is defined in a higher layer. The functions
here depend only on its base class, `Composite`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from gpugraph.graph.client.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


class SparseTensorValue(NamedTuple):
    """The arrays of a SparseTensor, as a run returns them and accepts them as a feed."""

    indices: Any
    values: Any
    dense_shape: Any


class Composite(ABC):
    """Base class of sparse tensors. A sparse tensor has the shape `dense_shape`. Its elements are
    0, except for the stored elements `values`.
    """

    @property
    @abstractmethod
    def values(self) -> Tensor:
        """The elements that are stored. All other elements are 0."""

    @property
    @abstractmethod
    def dense_shape(self) -> Tensor:
        """The shape of the dense tensor, an int64 vector."""

    @abstractmethod
    def _parts(self) -> list[Tensor]:
        """Return the tensors that the composite consists of."""

    @abstractmethod
    def _with(self, values: Any) -> Any:
        """Return a composite with new `values` at the positions of this composite, and with the
        same shape.
        """

    @abstractmethod
    def _of(self, parts: list[Tensor]) -> Any:
        """Return a composite of the same class that consists of `parts`."""


def of_values(function: Function) -> Function:
    """Wrap `function(x, ...)`. If x is a composite, apply the function to its values and keep the
    positions.
    """
    return _mapping(function, lambda x, apply: x._with(apply(x.values)))


def of_parts(function: Function) -> Function:
    """Wrap `function(x, ...)`. If x is a composite, apply the function to each tensor of which x
    consists.
    """
    return _mapping(function, lambda x, apply: x._of([apply(part) for part in x._parts()]))


def _mapping(function: Function, map_tensors: Callable[..., Any]) -> Function:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Composite):
            return map_tensors(args[0], lambda x: function(x, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return cast(Function, call)

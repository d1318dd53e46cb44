"""Composite tensors: values made of several tensors, as seen by functions of tensors.

`sparse_tensor.SparseTensor` is one. It is declared in a layer above the functions here, which only
use its parts, and the values among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from gpugraph.graph.client.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


class SparseTensorValue(NamedTuple):
    """The value of a SparseTensor, as fetched and fed."""

    indices: Any
    values: Any
    dense_shape: Any


class Composite(ABC):
    """A tensor of `dense_shape` with the elements `values` among zeros."""

    @property
    @abstractmethod
    def values(self) -> Tensor:
        """The elements other than 0."""

    @property
    @abstractmethod
    def dense_shape(self) -> Tensor:
        """The sizes of the dense tensor."""

    @abstractmethod
    def _parts(self) -> list[Tensor]:
        """Return its tensors."""

    @abstractmethod
    def _with(self, values: Any) -> Any:
        """Return a composite with the same positions and other values."""

    @abstractmethod
    def _of(self, parts: list[Tensor]) -> Any:
        """Return a composite with other parts."""


def of_values(function: Function) -> Function:
    """Wrap `function(x, ...)` to accept a sparse tensor, too, and map its values."""
    return _mapping(function, lambda x, apply: x._with(apply(x.values)))


def of_parts(function: Function) -> Function:
    """Wrap `function(x, ...)` to accept a sparse tensor, too, and map each of its parts."""
    return _mapping(function, lambda x, apply: x._of([apply(part) for part in x._parts()]))


def _mapping(function: Function, map_tensors: Callable[..., Any]) -> Function:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Composite):
            return map_tensors(args[0], lambda x: function(x, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return cast(Function, call)

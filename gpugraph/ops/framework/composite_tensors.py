"""Composite tensors: values made of several tensors, as functions of tensors see them.

`sparse_tensor.SparseTensor` is one. It is declared above the functions here, which know only that
it has parts, and values among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from gpugraph.graph.client.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


class SparseTensorValue(NamedTuple):
    """The value of a SparseTensor: what fetching one gives, and what it is fed."""

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
        """The sizes of the whole."""

    @abstractmethod
    def _parts(self) -> list[Tensor]:
        """Its tensors."""

    @abstractmethod
    def _with(self, values: Any) -> Any:
        """A composite of the same positions and other values."""

    @abstractmethod
    def _of(self, parts: list[Tensor]) -> Any:
        """A composite of other parts."""


def of_values(function: Function) -> Function:
    """`function(x, ...)` that takes a sparse tensor too, and maps its values."""
    return _mapping(function, lambda x, apply: x._with(apply(x.values)))


def of_parts(function: Function) -> Function:
    """`function(x, ...)` that takes a sparse tensor too, and maps each of its parts."""
    return _mapping(function, lambda x, apply: x._of([apply(part) for part in x._parts()]))


def _mapping(function: Function, map_tensors: Callable[..., Any]) -> Function:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Composite):
            return map_tensors(args[0], lambda x: function(x, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return cast(Function, call)

"""What several tensors stand for, as functions of tensors meet it.

A sparse tensor is one: `sparse_tensor.SparseTensor` makes itself of tensors by ops that are
declared with these functions, which therefore know only that it has parts, and values among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from gpugraph.graph.client.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


class Composite(ABC):
    """Has the elements `values`, in a tensor of `dense_shape` that is otherwise 0."""

    @property
    @abstractmethod
    def values(self) -> Tensor:
        """The elements that are there."""

    @property
    @abstractmethod
    def dense_shape(self) -> Tensor:
        """The sizes of the whole."""

    @abstractmethod
    def _parts(self) -> list[Tensor]:
        """The tensors that it is made of."""

    @abstractmethod
    def _with(self, values: Any) -> Any:
        """The same places with other values."""

    @abstractmethod
    def _of(self, parts: list[Tensor]) -> Any:
        """One of other parts."""


def of_values(function: Function) -> Function:
    """`function(x, ...)`, which of a sparse tensor is one of the function's values."""

    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Composite):
            return args[0]._with(function(args[0].values, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return cast(Function, mapped)


def of_parts(function: Function) -> Function:
    """`function(x, ...)`, which of a sparse tensor is one of the function of each part."""

    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Composite):
            return args[0]._of([function(part, *args[1:], **kwargs) for part in args[0]._parts()])
        return function(*args, **kwargs)

    return cast(Function, mapped)

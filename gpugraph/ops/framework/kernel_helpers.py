"""Helpers that several kernels share. They run callables in sequence, read values in host memory,
and copy views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import Call, KernelContext, Launch, Native, Signature, Source, ViewCopies


def do_nothing() -> None:
    """Do nothing. This is the bound kernel of an op on empty tensors."""


def copy_array(source: Any, out: Any) -> None:
    """Copy `source` to `out`. This is the kernel of ops whose output has the same elements and
    shape as the input.
    """
    np.copyto(out, source)


class _OtherAttrs:
    """A kernel's context (`KernelContext`) with additional attrs that the node does not have."""

    def __init__(self, context: KernelContext, attrs: Mapping[str, Any]) -> None:
        self._context, self.attrs = context, {**context.attrs, **attrs}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def with_attrs(context: KernelContext, attrs: Mapping[str, Any]) -> KernelContext:
    """Return the context with additional attrs, so that the kernel of another op type can be bound
    to it.
    """
    adapted: Any = _OtherAttrs(context, attrs)
    return adapted


def run_all(steps: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    """Return one callable that runs all of `steps`."""
    if len(steps) == 1:
        return steps[0]

    def run() -> None:
        for step in steps:
            step()

    return run


def ints(array: Any) -> tuple[int, ...]:
    """Return the elements of a value in host memory as a flat tuple of ints."""
    return tuple(np.asarray(array).reshape(-1).tolist())


def item_size(dtype: DType) -> int:
    """Return the size of an element in bytes. Raises NotImplementedError for Python objects."""
    if dtype.base_dtype in (dtypes.string, dtypes.resource):
        raise NotImplementedError(f"{dtype.base_dtype.name}: its elements are Python objects")
    return dtype.base_dtype.size


def numpy_kernels(call: Call, native: Native | None = None) -> dict[str, Any]:
    """Return the kernels of an op that NumPy computes on CPUs and GPUs, as keyword arguments of
    `op`.

    Args:
      native: the op's native kernel, which runs instead if it supports the node.
    """
    return {"cpu": call, "gpu": call} | ({"native": native} if native else {})


def cuda_kernels(
    file: str, launches: Callable[[Signature], Sequence[Launch]], call: Call, **options: Any
) -> dict[str, Any]:
    """Return the kernels of an op with CUDA code and a NumPy kernel `call`, as keyword arguments of
    `op`.

    Args:
      file, launches, options: the arguments of `Source`.
    """
    return {"cpu": call, "gpu": Source(file, launches, call, **options)}


Pairs = Sequence[tuple[Any, Any]]
"""(source, target) views of arrays: the copies of an op, as in `ViewCopies`."""


def copying(views: Callable[..., Pairs]) -> dict[str, Any]:
    """Return the kernels of an op that only copies, as keyword arguments of `op`.

    Args:
      views: see `ViewCopies`.
    """

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        pairs = views(context, *arrays)
        return run_all([partial(np.copyto, target, source) for source, target in pairs])

    return {**numpy_kernels(Call(make=bind)), "native": ViewCopies(views)}


def _same_bytes(_: Signature, source: Any, out: Any) -> Pairs:
    return [(source, out.reshape(source.shape))]


same_bytes = copying(_same_bytes)
"""The kernels of ops whose output has the input's bytes, possibly in another shape."""

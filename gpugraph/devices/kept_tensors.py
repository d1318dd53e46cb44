"""Tensors that a session keeps between runs, by handle: `tf.get_session_handle`."""

from __future__ import annotations

import itertools
from typing import Any, Protocol

from gpugraph.base.errors import InvalidArgumentError, invalid_argument


class SupportsRead(Protocol):
    """Memory that holds a tensor."""

    def read(self) -> Any:
        """Return a host copy of the tensor."""


class NewHandle(bytes):
    """A new handle from a run. Its tensor is kept if the run's caller takes the handle."""

    block: SupportsRead | None = None


class KeptTensors:
    """The tensors of one session that outlive a run. Their memory is freed with their entry."""

    def __init__(self) -> None:
        self._blocks: dict[str, SupportsRead] = {}
        self._numbers = itertools.count()

    def new_handle(self, name: str, block: SupportsRead, device: str) -> NewHandle:
        """Return a handle `name;number;device` for a tensor of the op `name` on that device."""
        handle = NewHandle(f"{name};{next(self._numbers)};{device}".encode())
        handle.block = block
        return handle

    def keep(self, handle: NewHandle) -> None:
        """Keep the tensor of a new handle; do nothing if it is kept already."""
        block, handle.block = handle.block, None
        if block is not None:
            self._blocks[handle.decode()] = block

    def read(self, handle: str) -> Any:
        """Return a host copy. InvalidArgumentError for a deleted or foreign handle."""
        block = self._blocks.get(handle)
        if block is None:
            raise unknown_handle(handle)
        return block.read()

    def delete(self, handle: str) -> None:
        """Free the memory; InvalidArgumentError as in `read`."""
        if self._blocks.pop(handle, None) is None:
            raise unknown_handle(handle)

    def discard(self, handle: str) -> None:
        """Free the memory like `delete`; do nothing if there is no such tensor."""
        self._blocks.pop(handle, None)

    def clear(self) -> None:
        """Free the memory of all tensors."""
        self._blocks.clear()


def unknown_handle(handle: str) -> InvalidArgumentError:
    """Return the error for a handle under which a session keeps no tensor."""
    return invalid_argument(f"The tensor with handle '{handle}' is not in the session store.")

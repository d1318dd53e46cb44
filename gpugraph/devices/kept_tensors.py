"""Kept tensors: tensors that a session keeps between runs. Each has a handle
(`tf.get_session_handle`).
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol

from gpugraph.base.errors import InvalidArgumentError, invalid_argument


class SupportsRead(Protocol):
    """The interface of a tensor's memory from which the tensor can be read."""

    def read(self) -> Any:
        """Return a host copy of the tensor."""


class NewHandle(bytes):
    """A handle that a run has just created. The session keeps the tensor only if the run returns
    the handle to its caller.
    """

    block: SupportsRead | None = None


class KeptTensors:
    """The tensors that one session keeps between runs. When the entry of a tensor is removed, the
    memory of the tensor is freed.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, SupportsRead] = {}
        self._numbers = itertools.count()

    def new_handle(self, name: str, block: SupportsRead, device: str) -> NewHandle:
        """Return a new handle `name;number;device` for a tensor that the op `name` has computed.
        The session keeps the tensor only after `keep` is called.
        """
        handle = NewHandle(f"{name};{next(self._numbers)};{device}".encode())
        handle.block = block
        return handle

    def keep(self, handle: NewHandle) -> None:
        """Keep the tensor of a new handle until the handle is deleted. Do nothing if the tensor is
        already kept.
        """
        block, handle.block = handle.block, None
        if block is not None:
            self._blocks[handle.decode()] = block

    def read(self, handle: str) -> Any:
        """Return a copy of a kept tensor on the host. Raises InvalidArgumentError if this session
        does not have the handle, or if its tensor was deleted.
        """
        block = self._blocks.get(handle)
        if block is None:
            raise unknown_handle(handle)
        return block.read()

    def delete(self, handle: str) -> None:
        """Free the tensor of a handle. Raises InvalidArgumentError if this session does not have
        the handle, or if its tensor was deleted.
        """
        if self._blocks.pop(handle, None) is None:
            raise unknown_handle(handle)

    def discard(self, handle: str) -> None:
        """Free the tensor of a handle. Do nothing if no tensor has this handle."""
        self._blocks.pop(handle, None)

    def clear(self) -> None:
        """Free all kept tensors."""
        self._blocks.clear()


def unknown_handle(handle: str) -> InvalidArgumentError:
    """Return the error for a handle that the session does not have."""
    return invalid_argument(f"The tensor with handle '{handle}' is not in the session store.")

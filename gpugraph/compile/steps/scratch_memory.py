"""Scratch memory of a plan's steps: blocks that steps share, since they run one after the other.

A step has the smallest block that is large enough and that it has not yet; else a new one, a little
larger than it needs. So a plan holds about as much as the step that needs most.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gpugraph.base.dtypes import uint8
from gpugraph.devices import Block, Device
from gpugraph.memory import size_class


class ScratchPool:
    """The blocks of one device. They are added to `owned`, which releases them."""

    def __init__(self, device: Device, owned: list[Any]) -> None:
        self._device = device
        self._owned = owned
        self._blocks: list[tuple[int, Block]] = []

    def block(self, num_bytes: int, but: Collection[Block], owner: str) -> Block:
        """A block of so many bytes or more, none of `but`.

        ResourceExhaustedError, which names the owner, when memory is out.
        """
        fitting = [
            (size, index)
            for index, (size, block) in enumerate(self._blocks)
            if size >= num_bytes and block not in but
        ]
        if fitting:
            return self._blocks[min(fitting)[1]][1]
        size = size_class(num_bytes)
        block = self._device.allocate((size,), uint8, owner)
        self._blocks.append((size, block))
        self._owned.append(block)
        return block

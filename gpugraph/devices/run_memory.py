"""Run memory: memory that the runs of several plans time-share. One block contains their arenas,
and pools contain their scratch memory.

    plan A  [ weights' gradients ][ activations ]      run A, run B, run A ...
    plan B  [ activations ]                            one block, as large as A's arena

A plan's steps are bound to addresses. So plans that run alternately are bound to one block per
device, which has the size of their largest arena. A run holds the `RunMemory` from its start to its
end. Nothing in an arena or in scratch memory outlives a run. Data that lives longer (variables,
constants, captured graphs) has separate memory. If a run begins while another run is using the
memory, it does not wait. Instead, the plan of the new run is moved to other memory.

If the arena of a plan is larger than the block, the plan gets a new block. If the old blocks are
not small compared with the new block, the plans in them are dropped. When these plans run the next
time, they are compiled again for the new block. So all plans together occupy the size of the
largest arena, plus at most `LEFT_OVER` bytes or 1 / `LEFT_OVER_PART` of the largest arena,
whichever is more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from gpugraph.base.dtypes import uint8
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.devices.device import Block, Device
from gpugraph.devices.out_of_memory import out_of_memory, tensor_words
from gpugraph.memory import size_class

LEFT_OVER = 1 << 20
"""Smaller blocks stay if their total size is at most this number of bytes. Their plans are then not
compiled again.
"""

LEFT_OVER_PART = 8
"""The same limit as a fraction of the largest block, 1 / LEFT_OVER_PART; the larger limit
applies.
"""


_USERS = new_rlock(brief=True)
"""The lock that is held while users of a block are added or removed. A run may leave a block while
another thread compiles a plan into the block.
"""


class SharedBlock(Block):
    """A block of memory that several plans share. When the last plan leaves the block or is
    deleted, the memory is freed.

    Args:
      number: the number of the block. Blocks are numbered in the order of their creation.

    Attributes:
      is_left: whether the last user has left the block. After that, no user can be added.
      is_given_up: whether the plans of this block must be compiled again for another block.
    """

    __slots__ = ("__weakref__", "is_given_up", "is_left", "num_bytes", "number", "users")

    def __init__(self, device: Device, num_bytes: int, number: int = 0) -> None:
        super().__init__(device, None, None)
        self.num_bytes = num_bytes
        self.number = number
        self.users: WeakKeyDictionary[Lease, None] = WeakKeyDictionary()
        self.is_given_up = False
        self.is_left = False

    def lease(self, user: str, num_bytes: int) -> Lease | None:
        """Add a user that needs `num_bytes` of the block, and return its lease. If the last user
        has already left the block, return None.
        """
        lease = Lease(self, user, num_bytes)
        with _USERS:
            if self.is_left:
                return None
            self.users[lease] = None
        self.note_users()
        return lease

    def leave(self, lease: Lease) -> None:
        """Remove a user. If an interrupt (Ctrl-C) ends this method early, it may be called
        again.
        """
        with _USERS:
            self.users.pop(lease, None)
            self.is_left = not self.users
        if self.is_left:
            self.release()
        else:
            self.note_users()

    def note_users(self) -> None:
        """Record the owners of the memory for messages. The base class records nothing. A subclass
        overrides this method if the owners depend on the block's users.
        """


class ArenaBlock(SharedBlock):
    """A block for the arenas of plans. Out-of-memory messages and statistics name its users as the
    owners of its memory.
    """

    __slots__ = ()

    def note_users(self) -> None:
        """Record the plans that have their arena in this block, for messages."""
        with _USERS:
            names = list(dict.fromkeys(lease.user for lease in list(self.users)))
        if names:
            others = "1 other plan" if len(names) == 2 else f"{len(names) - 1} other plans"
            beside = f" and {others}, alternately" if names[1:] else ""
            self.device.note_owner(self, self.num_bytes, names[0] + beside)


class Lease:
    """The right of one user to use a `SharedBlock`, as `SharedBlock.lease` returns it.

    Args:
      user: a name for messages.
    """

    def __init__(self, block: SharedBlock, user: str, num_bytes: int) -> None:
        self.block, self.user, self.num_bytes = block, user, num_bytes

    def release(self) -> None:
        """Leave the block. If this is the last user's lease, the block is freed."""
        self.block.leave(self)


class RunMemory:
    """The memory that plans time-share.

    Args:
      why: the reason for sharing the memory, for the reports of plans.

    Attributes:
      holder: `{0: plan}` while a run of the plan uses the memory. A plan has acquired the memory if
        `holder.setdefault(0, plan) is plan`. This is one atomic call, and faster than a lock.
    """

    def __init__(self, why: str, give_up: Callable[[ArenaBlock], None] | None = None) -> None:
        """Create the memory, without any blocks.

        Args:
          give_up: a function that drops the plans in a block. The block's memory is freed
            immediately, or when the current runs of these plans end.
        """
        self.why = why
        self.holder: dict[int, Any] = {}
        self.scratch: dict[str, ScratchPool] = {}
        self._blocks: WeakSet[ArenaBlock] = WeakSet()
        self._give_up = give_up

    def lease(self, device: Device, num_bytes: int, user: str) -> Lease | None:
        """Return a lease of the device's block for an arena of `num_bytes`. If the block is too
        small, it is replaced by a larger one. If there is not enough memory, return None.
        """
        block = self._largest(device)
        lease = block.lease(user, num_bytes) if block and block.num_bytes >= num_bytes else None
        if lease is None:
            del block  # this reference would keep a dropped block alive
            self._shrink(device, num_bytes)
            block = ArenaBlock(device, num_bytes)
            if device.take(num_bytes, user, block) is None:
                return None
            lease = block.lease(user, num_bytes)
            self._blocks.add(block)
        return lease

    def trim(self) -> None:
        """Release each block if the remaining plans use less than half of it."""
        for block in list(self._blocks):
            most = max((lease.num_bytes for lease in list(block.users)), default=0)
            if block.num_bytes > max(2 * most, LEFT_OVER):
                self._retire(block)

    def _largest(self, device: Device) -> ArenaBlock | None:
        return max(self._on(device), key=lambda block: block.num_bytes, default=None)

    def _on(self, device: Device) -> list[ArenaBlock]:
        return [
            block
            for block in self._blocks
            if block.device is device and not (block.is_left or block.is_given_up)
        ]

    def _shrink(self, device: Device, num_bytes: int) -> None:
        """Give up blocks, the largest first, until the total size of the remaining blocks is small
        compared with `num_bytes`.
        """
        most = max(LEFT_OVER, num_bytes // LEFT_OVER_PART)
        blocks = self._on(device)
        while sum(block.num_bytes for block in blocks) > most:
            self._retire(max(blocks, key=lambda block: block.num_bytes))
            blocks = self._on(device)

    def _retire(self, block: ArenaBlock) -> None:
        block.is_given_up = True
        if self._give_up is not None:
            self._give_up(block)


class ScratchPool:
    """Blocks of scratch memory on one device. Steps share the blocks, because steps run one after
    another.

    A step gets the smallest block that is large enough and that the step does not use already. If
    there is no such block, a new block is allocated, which is a little larger than needed. So the
    total scratch memory of all plans is about the maximum that a single step needs.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._blocks: WeakSet[SharedBlock] = WeakSet()
        self._count = 0

    def lease(self, num_bytes: int, but: Collection[Block], owner: str) -> Lease:
        """Return a lease of a block with at least `num_bytes`.

        Raises ResourceExhaustedError, with the owner's name, if there is not enough memory.

        Args:
          but: blocks that the step already uses, which must not be returned.
        """
        fitting = [
            block
            for block in list(self._blocks)
            if block.num_bytes >= num_bytes and not block.is_left and block not in but
        ]
        for block in sorted(fitting, key=lambda block: (block.num_bytes, block.number)):
            if (lease := block.lease(owner, num_bytes)) is not None:
                return lease
        self._count += 1
        size = size_class(num_bytes)
        block = SharedBlock(self._device, size, self._count)
        if self._device.take(size, owner, block) is None:
            raise out_of_memory(self._device, size, tensor_words((size,), uint8), owner)
        self._blocks.add(block)
        lease = block.lease(owner, num_bytes)
        assert lease is not None
        return lease

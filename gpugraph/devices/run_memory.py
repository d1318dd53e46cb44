"""Memory that the runs of several plans time-share: a block for their arenas, and scratch.

    plan A  [ weights' gradients ][ activations ]      run A, run B, run A ...
    plan B  [ activations ]                            one block, as large as A's arena

The steps of a plan are bound to addresses. So plans that run alternately are bound to one block
per device, as large as the largest arena among them, and a run holds the `RunMemory` while it
lasts. Nothing in an arena or in scratch outlives a run; longer-lived data (variables, constants,
captured graphs) has separate memory. A run that finds the memory in use does not wait: its plan
gets other memory.

A plan that needs more than the block gets a new one. If the old ones are worth it, the plans in
them are given up, and compiled again into the new one at their next run. So all plans together
have the largest arena, and at most `LEFT_OVER` beside it, or a `LEFT_OVER_PART` of it.
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
"""The total size of smaller blocks, in bytes, up to which their plans are not compiled again."""

LEFT_OVER_PART = 8
"""The same as a fraction of the largest block: 1 / LEFT_OVER_PART."""


_USERS = new_rlock(brief=True)
"""Held while the users of a block change: runs leave blocks while other threads compile."""


class SharedBlock(Block):
    """A block of several users, which is freed when the last of them leaves it or is deleted.

    is_left: whether the last user has left; from then on no user can join.
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
        """Add a user of `num_bytes` of the block; return None if the last user has left it."""
        lease = Lease(self, user, num_bytes)
        with _USERS:
            if self.is_left:
                return None
            self.users[lease] = None
        self.note_users()
        return lease

    def leave(self, lease: Lease) -> None:
        """Remove a user. It may be called again if Ctrl-C ended the first attempt."""
        with _USERS:
            self.users.pop(lease, None)
            self.is_left = not self.users
        if self.is_left:
            self.release()
        else:
            self.note_users()

    def note_users(self) -> None:
        """Record the owners of the memory, if that depends on the users."""


class ArenaBlock(SharedBlock):
    """A block for the arenas of plans, which messages and statistics list as its owners."""

    __slots__ = ()

    def note_users(self) -> None:
        """Record which plans have an arena inside this block, for messages about memory."""
        with _USERS:
            names = list(dict.fromkeys(lease.user for lease in list(self.users)))
        if names:
            beside = f" and {len(names) - 1} other plans, alternately" if names[1:] else ""
            self.device.note_owner(self, self.num_bytes, names[0] + beside)


class Lease:
    """A user's part of a block, from `SharedBlock.lease`."""

    def __init__(self, block: SharedBlock, user: str, num_bytes: int) -> None:
        self.block, self.user, self.num_bytes = block, user, num_bytes

    def release(self) -> None:
        """Leave the block."""
        self.block.leave(self)


class RunMemory:
    """The memory of plans that run alternately.

    holder: `{0: plan}` while the run of a plan has the memory. `setdefault(0, plan) is plan`
    acquires
    it: one atomic call, cheaper than a lock. why: the reason for sharing it, for explanations of a
    plan.
    """

    def __init__(self, why: str, give_up: Callable[[ArenaBlock], None] | None = None) -> None:
        """give_up: gives up the plans in a block; its memory is freed at once, or after runs."""
        self.why = why
        self.holder: dict[int, Any] = {}
        self.scratch: dict[str, ScratchPool] = {}
        self._blocks: WeakSet[ArenaBlock] = WeakSet()
        self._give_up = give_up

    def lease(self, device: Device, num_bytes: int, user: str) -> Lease | None:
        """Lease part of the device's block for an arena; return None when memory runs out."""
        block = self._largest(device)
        lease = block.lease(user, num_bytes) if block and block.num_bytes >= num_bytes else None
        if lease is None:
            del block  # it may be given up
            self._shrink(device, num_bytes)
            block = ArenaBlock(device, num_bytes)
            if device.take(num_bytes, user, block) is None:
                return None
            lease = block.lease(user, num_bytes)
            self._blocks.add(block)
        return lease

    def trim(self) -> None:
        """Give up blocks of which the remaining plans need less than half."""
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
        """Give up blocks, the largest first, until the rest is small compared to `num_bytes`."""
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
    """Scratch blocks of one device, which steps share, since they run one after the other.

    A step gets the smallest block that is large enough and that it does not have yet; else a new
    one, a little larger than it needs. So all plans together hold about as much as the most
    demanding step.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._blocks: WeakSet[SharedBlock] = WeakSet()
        self._count = 0

    def lease(self, num_bytes: int, but: Collection[Block], owner: str) -> Lease:
        """Lease a block of at least `num_bytes` that is not one of `but`.

        ResourceExhaustedError, with the owner, when memory runs out.
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

"""The choice of the tensors that a GPU swaps to the host while they are idle. Swapping makes the
GPU's arena smaller.

  GPU     x = f(..)  g(x)      a   b   c   d   e   f   ...   h(x)
  out               [ x to the host ]
  in                                       [ x to the GPU ]
  arena   |------- x ---------------|      |------ x -----------|

`RewriterConfig.memory_optimization` selects the method. MANUAL swaps a tensor if an op that reads
it has the attr `_swap_to_host`. SWAPPING_HEURISTICS and HEURISTICS swap these tensors too. Then
they repeatedly find the peak of the arena, and swap the tensor that is live at the peak and idle
for the longest time, until no further copies can be hidden. A copy is hidden if it takes place
during computation. Copies in the same direction run one after another (`step_time_model` estimates
their times). If the copies of a tensor would not be hidden, the tensor stays on the GPU, unless the
arena exceeds the GPU's memory.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from itertools import accumulate

from gpugraph.compile.analysis.step_time_model import copy_seconds
from gpugraph.compile.memory.idle_tensors import DeviceTimeline, Idle, idle_tensors
from gpugraph.compile.unit.compile_unit import Swap, Unit
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.memory import human_readable_bytes

FULL = 0.875
"""The fraction of a GPU's memory, without the variables, that an arena may fill; the rest allows
for fragmentation.
"""

DEPTHS = 4
"""The number of levels of the graph during which a tensor is copied to the host and back."""

Places = tuple[tuple[int, Node], tuple[int, Node], Node]
"""When a tensor is on the host. Three items: the position and node during which the copy to the
host ends; the position and node after which the copy back begins; and the node after which the
tensor must be back on the GPU.
"""


def chosen_swaps(unit: Unit, by_heuristics: bool) -> tuple[list[Swap], list[str]]:
    """Return the swaps, and report lines about tensors that stay on a GPU although they are idle at
    a peak of the arena.
    """
    swaps: list[Swap] = []
    lines: list[str] = []
    for device in unit.target.devices:
        if device.device_type == "GPU" and unit.arena_sizes.get(device.name):
            choice = _Choice(unit, device.name, device.attributes.memory_limit_bytes)
            choice.obey_hints()
            if by_heuristics:
                choice.lower_peaks()
            swaps += choice.swaps
            lines += choice.lines
    return swaps, lines


class _Lane:
    """The times that are reserved for the copies in one direction, which run one after another.
    Times are in seconds from the start of the run.
    """

    def __init__(self) -> None:
        self._busy: list[tuple[float, float]] = []

    def earliest(self, begin: float, seconds: float) -> float:
        """Return the earliest time, not before `begin`, at which a copy that takes `seconds` can
        begin.
        """
        for start, end in self._busy:
            if start >= begin + seconds:
                break
            begin = max(begin, end)
        return begin

    def latest(self, end: float, seconds: float) -> float:
        """Return the latest time, not after `end`, at which a copy that takes `seconds` can end."""
        for start, stop in reversed(self._busy):
            if stop <= end - seconds:
                break
            end = min(end, start)
        return end

    def take(self, begin: float, seconds: float) -> None:
        """Reserve the `seconds` after the time `begin` for a copy."""
        insort(self._busy, (begin, begin + seconds))


class _Choice:
    """The choice of swaps for one GPU.

    Args:
      limit: the size of the GPU's memory in bytes.
    """

    def __init__(self, unit: Unit, device: str, limit: int) -> None:
        self.unit, self.device = unit, device
        self.limit = int(FULL * (limit - _variable_bytes(unit, device)))
        self.timeline = DeviceTimeline(unit, device)
        self.tensors = idle_tensors(unit, device, self.timeline)
        self.live = self._live_bytes()
        self.position = unit.positions()
        self.out, self.back = _Lane(), _Lane()
        self.swaps: list[Swap] = []
        self.lines: list[str] = []

    def _live_bytes(self) -> list[int]:
        """Return the number of live bytes in the GPU's arena at each position in the order."""
        changes = [0] * (len(self.unit.order) + 2)
        storages = {home.storage for home in self.unit.homes.values()}
        for storage in storages:
            if storage.kind == "arena" and storage.device == self.device:
                changes[max(storage.first, 0)] += storage.size
                changes[storage.last + 1] -= storage.size
        return list(accumulate(changes))

    def obey_hints(self) -> None:
        """Swap each tensor that is read by an op with the attr `_swap_to_host`, even if the copies
        are not hidden.
        """
        for tensor in self.tensors:
            if tensor.is_hinted:
                places = self._hidden(tensor) or self._anywhere(tensor)
                if places is None:
                    self.lines.append(f"{_name(tensor)} stays: no step is between its uses")
                else:
                    self._swap(tensor, places, f"requested by {tensor.late[0].dst.name}")
        self.tensors = [tensor for tensor in self.tensors if not tensor.is_hinted]

    def lower_peaks(self) -> None:
        """Swap tensors that are live at the arena's peak: first tensors whose copies are hidden,
        then any tensors as long as the arena exceeds the GPU's memory.
        """
        while self.tensors:
            peak = max(range(len(self.live)), key=self.live.__getitem__)
            if not self._lower(peak, self._hidden, "hidden by the computation"):
                break
        while max(self.live) > self.limit:
            peak = max(range(len(self.live)), key=self.live.__getitem__)
            if not self._lower(peak, self._anywhere, "without it the arena exceeds the memory"):
                break

    def _lower(self, peak: int, placed: Callable[[Idle], Places | None], reason: str) -> bool:
        """Swap the tensor that is idle for the longest time at the position `peak`. Return False if
        no tensor can be swapped.

        Args:
          placed: a function that returns the positions of a tensor's copies, or None.
        """
        here = [tensor for tensor in self.tensors if tensor.first < peak < tensor.last]
        for tensor in sorted(here, key=self._seconds, reverse=True):
            places = placed(tensor)
            if places is not None and places[0][0] < peak < places[1][0]:
                self.tensors.remove(tensor)
                self._swap(tensor, places, reason)
                return True
        self._note_staying(here)
        return False

    def _note_staying(self, here: Sequence[Idle]) -> None:
        self.lines = [f"{_name(tensor)} stays: {self._why_staying(tensor)}" for tensor in here]

    def _why_staying(self, tensor: Idle) -> str:
        seconds, idle = copy_seconds(tensor.storage.size), self._seconds(tensor)
        if 2 * seconds < idle:
            return "other copies, or the order of the ops, leave no time for its copies"
        return f"copies of {_ms(seconds)} each way are not hidden by {_ms(idle)} of computation"

    def _seconds(self, tensor: Idle) -> float:
        """Return the time in seconds for which a tensor is idle, according to the model."""
        return self.timeline.begin(tensor.last) - self.timeline.ends[tensor.first]

    def _hidden(self, tensor: Idle) -> Places | None:
        """Return the positions of the tensor's copies if they can take place during computation, or
        else None.
        """
        seconds = copy_seconds(tensor.storage.size)
        computed_s = self.timeline.ends[self.position[tensor.node.id]]
        begin = self.out.earliest(computed_s, seconds)
        end = self.back.latest(self.timeline.begin(tensor.last), seconds)
        return self._places(tensor, begin + seconds, end - seconds)

    def _anywhere(self, tensor: Idle) -> Places | None:
        """Return the positions of the tensor's copies for which the tensor is on the host as long
        as possible, even if the copies are not hidden. Return None if no node runs between two uses
        of the tensor.
        """
        return self._places(
            tensor, self.timeline.ends[tensor.first], self.timeline.begin(tensor.last)
        )

    def _places(self, tensor: Idle, gone: float, back: float) -> Places | None:
        """Return the positions of the copies, or None if there are no suitable nodes.

        Args:
          gone: the time in seconds at which the copy to the host must have ended.
          back: the time in seconds at which the copy back to the GPU begins.
        """
        ends, depth = self.timeline.ends, self.unit.depth
        top = min(depth[edge.dst.id] for edge in tensor.late)
        between = [
            (place, level, node)
            for place, level, node in self.timeline.marks
            if tensor.first <= place < tensor.last and level <= top - 2
        ]
        leaves = [
            (place, node)
            for place, level, node in between
            if ends[place] >= gone and level <= top - DEPTHS
        ]
        begins = [
            (place, node)
            for place, level, node in between
            if ends[place] <= back and level < top - 2
        ]
        if not leaves or not begins or begins[-1][0] <= leaves[0][0]:
            return None
        last = max(between, key=lambda mark: (mark[1], mark[0]))[2]
        return leaves[0], begins[-1], last

    def _swap(self, tensor: Idle, places: Places, reason: str) -> None:
        (first, leaves), (last, begins), ends = places
        size, seconds = tensor.storage.size, copy_seconds(tensor.storage.size)
        self._take_lanes(tensor, seconds)
        for position in range(first + 1, last + 1):
            self.live[position] -= size
        uses = tuple((edge.dst.name, edge.dst_input) for edge in tensor.late)
        why = (
            f"{reason}: {_ms(seconds)} each way beside {_ms(self._seconds(tensor))} from "
            f"'{leaves.name}' to '{uses[0][0]}'"
        )
        node, slot = tensor.node.name, tensor.slot
        names = leaves.name, begins.name, ends.name
        self.swaps.append(Swap(node, slot, size, uses, *names, why))

    def _take_lanes(self, tensor: Idle, seconds: float) -> None:
        computed_s = self.timeline.ends[self.position[tensor.node.id]]
        self.out.take(self.out.earliest(computed_s, seconds), seconds)
        back = self.back.latest(self.timeline.begin(tensor.last), seconds)
        self.back.take(back - seconds, seconds)


def _variable_bytes(unit: Unit, device: str) -> int:
    """Return the total size in bytes of the run's variables on a device."""
    variables = [node for node in unit.order if node.node_class is NodeClass.VARIABLE]
    return sum(
        (unit.shapes[node.id][0].num_elements() or 0) * node.output_types[0].base_dtype.itemsize
        for node in variables
        if node.assigned_device == device
    )


def swap_words(swap: Swap) -> str:
    """Return the report line that describes a swap."""
    name = swap.source if not swap.slot else f"{swap.source}:{swap.slot}"
    return f"{name}: {human_readable_bytes(swap.num_bytes)} to the host, {swap.why}"


def _name(tensor: Idle) -> str:
    return f"{tensor.node.name} ({human_readable_bytes(tensor.storage.size)})"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"

"""The totals of passes over rows in CUDA sources. Sums of exponentials are added online, in the
same pass as the maximum to which they refer (`online_sums` in loop_schedule.py).
"""

from __future__ import annotations

from typing import NamedTuple

from gpugraph.devices.codegen.loop_schedule import Pass
from gpugraph.devices.codegen.program_source import ProgramSource


class SourceVariant(NamedTuple):
    """The parameters of a source in addition to its program.

    Args:
      pack: the number of elements that a thread loads in one access.
      group: the number of threads that compute a row together.
      wide: whether offsets need 64 bits.
      whole: whether the only axis is divided into parts.
    """

    pack: int = 1
    group: int = 256
    wide: bool = False
    whole: bool = False


class OnlineTotals(ProgramSource):
    """A source whose passes combine elements with totals, some of them online."""

    variant: SourceVariant

    def _sums(self, row_pass: Pass) -> tuple[list[str], list[str], list[str]]:
        """Return the statements before a pack of elements, for each element, and after the pack,
        that combine the elements with the totals of a pass. Online sums add a pack at once.
        """
        declared, adds, after = list[str](), list[str](), list[str]()
        pack, online = self.variant.pack, self.schedule.online
        for index in row_pass.lanes:
            if index in online:
                largest, place = online[index], "item" if pack > 1 else "0"
                declared.append(f"{self.values.kind(index)} online{index}[{pack}];")
                adds.append(f"online{index}[{place}] = v{self.program.operands(largest)[0]};")
                after.append(f"gg_online(online{index}, total{largest}, total{index});")
            elif index not in online.values():
                adds.append(self._add(index))
        return declared, adds, after

    def _leave_online(self, index: int) -> list[str]:
        """Return statements before those that combine the totals of a block's threads: the sums
        that refer to each thread's maximum then refer to the block's.
        """
        online, total = self.schedule.online, f"total{index}"
        if index in online.values():
            return [f"const {self.values.kind(index)} own{index} = {total};"]
        if index not in online:
            return []
        largest = online[index]
        return [f"{total} = gg_rescaled({total}, own{largest}, total{largest});"]

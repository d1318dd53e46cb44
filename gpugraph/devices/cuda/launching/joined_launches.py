"""Many small launches of one generated kernel as one: each block finds whose it is in a table.

    table    tensors | what all have alike | per tensor: where its blocks end, what it has alone

The table is the kernel's only parameter, by value: it needs no memory, and a captured graph keeps
it. CUDA gives parameters 4 KiB, so that many tensors take several launches. What arguments are
alike is found out from them: of an optimizer's update the numbers (learning rate, ...), and outputs
that lie where inputs do. The statements are those of the kernel alone, so the bits are, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpugraph.devices.codegen.program import Program
from gpugraph.devices.codegen.program_source import function_source
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.devices.cuda.launching.cuda_kernel_source import CudaSource, Form, Variant
from gpugraph.devices.cuda.launching.unbound_launch import Work

WORDS = 500
"""64-bit words of a table: nearly all that CUDA gives a kernel's parameters."""

_KERNEL = """struct {name}_table {{
    long long of[{words}];
}};
extern "C" __global__ void {name}_k0(const __grid_constant__ {name}_table given) {{
    int low = 0, high = (int)given.of[0] - 1;
    while (low < high) {{
        const int middle = (low + high) / 2;
        if (given.of[{first} + middle * {stride}] > blockIdx.x) high = middle;
        else low = middle + 1;
    }}
    const int at = {first} + low * {stride};
    const unsigned int begin = low ? (unsigned int)given.of[at - {stride}] : 0;
    {name}_one(blockIdx.x - begin, (unsigned int)given.of[at] - begin,
{arguments});
}}
"""


class Table:
    """Which words the arguments of launches are, one way for all of them.

    places: of each argument the word among those that all have alike, as -1 - word, or among a
    tensor's own.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        self.works = works
        shared: dict[Any, int] = {}
        self._own: dict[tuple[Any, ...], int] = {}  # columns, which often hold the same
        places = []
        for column in zip(*(work.arguments for work in works)):
            if column.count(column[0]) == len(column):
                places.append(-1 - shared.setdefault(column[0], len(shared)))
            else:
                places.append(self._own.setdefault(column, len(self._own)))
        self.places = tuple(places)
        self._shared = list(shared)
        self.first, self.stride = _layout(self.places)

    def words(self, start: int, stop: int) -> tuple[int, tuple[int, ...]]:
        """The blocks of the launches from `start` to `stop`, and their table."""
        words, blocks = [stop - start, *self._shared], 0
        for at in range(start, stop):
            blocks += self.works[at].geometry.grid[0]
            words += [blocks, *(column[at] for column in self._own)]
        return blocks, tuple(words + [0] * (WORDS - len(words)))


def _layout(places: Sequence[int]) -> tuple[int, int]:
    """Where a table's tensors begin, and the words of one."""
    return 1 + max(0, -min(places)), 2 + max(-1, *places)


class JoinedSource(CudaSource):
    """The text of one kernel, of which all but that it is one tensor's is as it would be alone."""

    block, blocks = "block_", "blocks_"

    def __init__(self, program: Program, variant: Variant, places: Sequence[int]) -> None:
        """places: as in `Table`."""
        self.places = tuple(places)
        super().__init__(program, variant, self.places)

    def _kernel(self, kind: str, lines: list[str]) -> str:
        self.forms.append(Form(f"{self.name}_k0", kind))
        given = [("const unsigned int ", self.block), ("const unsigned int ", self.blocks)]
        given += self._parameters()
        head = ", ".join(f"{kind}{each}" for kind, each in given)
        first, stride = _layout(self.places)
        arguments = ",\n".join(
            f"        ({kind.strip()})given.of[{f'at + {1 + place}' if place >= 0 else -place}]"
            for (kind, _), place in zip(self._parameters(), self.places)
        )
        kernel = _KERNEL.format(
            name=self.name, words=WORDS, first=first, stride=stride, arguments=arguments
        )
        return (
            function_source(f"GG_INLINE void {self.name}_one({head})", self._within(lines)) + kernel
        )


def join(works: Sequence[Work]) -> Iterator[Work]:
    """Launches of one text (which has `parts`) over memory that none of the others writes, as few
    launches."""
    assert works[0].parts is not None
    table = Table(works)
    text = JoinedSource(*works[0].parts, table.places)
    most = (WORDS - table.first) // table.stride
    for start in range(0, len(works), most):
        members = works[start : start + most]
        blocks, words = table.words(start, start + len(members))
        yield Work(
            text.source,
            text.forms[0].name,
            Geometry((blocks, 1, 1), works[0].geometry.block),
            words,
            tuple(dict.fromkeys(span for work in members for span in work.reads)),
            tuple(dict.fromkeys(span for work in members for span in work.writes)),
        )

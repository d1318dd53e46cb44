"""Joined launches: many small launches of one generated kernel become one launch, in which each
block finds its arguments in a table.

    table    tensors | equal arguments | for each tensor: the end of its blocks, other arguments

The table is the kernel's only parameter and is passed by value. So the table needs no device
memory, and each captured graph contains its own copy of the table. CUDA limits parameters to 4 KiB,
so many tensors require several launches. An argument is stored once if it has the same value in all
launches, such as the learning rate of an optimizer. An output that overwrites an input is also
stored once. A joined kernel executes the same statements as the kernel of a single launch, so the
results are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpugraph.devices.codegen.program import Program
from gpugraph.devices.codegen.program_source import function_source
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.devices.cuda.launching.cuda_kernel_source import CudaSource, Form
from gpugraph.devices.cuda.launching.online_totals import SourceVariant
from gpugraph.devices.cuda.launching.unbound_launch import Work

WORDS = 500
"""The number of 64-bit words in a table: nearly the maximum size of a kernel's parameters."""

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
    """The table of arguments of several launches.

    Attributes:
      places: for each argument, its place in the table. A place i >= 0 means the i-th argument that
        differs between launches. A place -1 - i means the i-th argument that is equal in all
        launches.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        self.works = works
        shared: dict[Any, int] = {}
        self._columns: dict[tuple[Any, ...], int] = {}  # by values: equal columns are stored once
        places = []
        for column in zip(*(work.arguments for work in works)):
            if column.count(column[0]) == len(column):
                places.append(-1 - shared.setdefault(column[0], len(shared)))
            else:
                places.append(self._columns.setdefault(column, len(self._columns)))
        self.places = tuple(places)
        self._shared = list(shared)
        self.first, self.stride = _layout(self.places)

    def words(self, start: int, stop: int) -> tuple[int, tuple[int, ...]]:
        """Return the total number of blocks of the launches from `start` to `stop`, and the 64-bit
        words of their table.
        """
        words, blocks = [stop - start, *self._shared], 0
        for index in range(start, stop):
            blocks += self.works[index].geometry.grid[0]
            words += [blocks, *(column[index] for column in self._columns)]
        return blocks, tuple(words + [0] * (WORDS - len(words)))


def _layout(places: Sequence[int]) -> tuple[int, int]:
    """Return the index of the word in the table where the entries of the tensors begin, and the
    number of words for each tensor.
    """
    return 1 + max(0, -min(places)), 2 + max(-1, *places)


class JoinedSource(CudaSource):
    """The CUDA source of a joined kernel. It has the statements of the single kernel, and gets its
    arguments from a table.
    """

    block, blocks = "block_", "blocks_"

    def __init__(self, program: Program, variant: SourceVariant, places: Sequence[int]) -> None:
        """Generate the source.

        Args:
          places: the places of the arguments in the table (`Table.places`).
        """
        self.places = tuple(places)
        super().__init__(program, variant, self.places)

    def _kernel(self, kind: str, lines: list[str]) -> str:
        self.forms.append(Form(f"{self.name}_k0", kind))
        parameters = [("const gg_index ", self.block), ("const gg_index ", self.blocks)]
        parameters += self._parameters()
        head = ", ".join(f"{kind}{name}" for kind, name in parameters)
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
    """Yield the joined launches that replace `works`, which are independent launches of one
    generated source. No `Work.parts` may be None.
    """
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

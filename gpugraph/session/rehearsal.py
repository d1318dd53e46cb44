"""Rehearsals, in which runs only compile and compute nothing.

While a rehearsal is in progress, a run compiles the graph that it would execute, reports the
compiled graph as a record, and returns zeros of the fetches' shapes. Unknown sizes of these zeros
are 1, or 0 if the dtype is string. No memory of the devices is used, so devices may have more
memory than the machine. After `MAX_RUNS` runs, a run that reads a dataset raises OutOfRangeError,
as if the data ended. A further run ends the program. Without a dataset, the first run after
`MAX_RUNS` runs ends the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import string
from gpugraph.base.errors import OutOfRangeError
from gpugraph.compile import RunRequest, Target, compile_record
from gpugraph.graph.client.tensor import Tensor
from gpugraph.plan import GraphRecord

MAX_RUNS = 1000
"""The maximum number of runs of one request, after which loops without an end are ended."""

REHEARSALS: list[Callable[[str, Target, GraphRecord], None]] = []
"""The listener of the rehearsal in progress: it receives the title, the devices and the graph of
each request when it is run for the first time.
"""


class RehearsedRuns:
    """The runs of one set of feeds and fetches of a session in a rehearsal."""

    def __init__(self, target: Target, fetches: Sequence[Tensor], title: str) -> None:
        self._target, self._fetches, self._title = target, fetches, title
        self._known: set[Any] = set()
        self._reads_data = False
        self._count = 0

    def run(self, shapes: Any, request: Callable[[], RunRequest]) -> list[Any]:
        """Return zeros for the fetches. If these shapes of feeds are new, also report the graph."""
        if shapes not in self._known:
            self._known.add(shapes)
            record = compile_record(self._target, request())
            ops = {node.node_def.op for node in record.nodes}
            self._reads_data = self._reads_data or "IteratorGetNext" in ops
            REHEARSALS[-1](self._title, self._target, record)
        self._count += 1
        if self._count > MAX_RUNS:
            if self._reads_data and self._count == MAX_RUNS + 1:
                raise OutOfRangeError.of_no_node("End of sequence: the rehearsal ends its data")
            raise SystemExit(0)
        return [_zeros(tensor) for tensor in self._fetches]


def _zeros(tensor: Tensor) -> Any:
    sizes = tensor.shape.sizes or ()
    dtype = tensor.dtype.base_dtype
    if dtype == string:
        shape = [size or 0 for size in sizes]
        return np.full(shape, b"", object) if sizes else b""
    return np.zeros([1 if size is None else size for size in sizes], dtype.as_numpy_dtype)[()]

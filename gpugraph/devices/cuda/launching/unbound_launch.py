"""Unbound launches: all parameters of a launch. They can be determined before there is a driver or
a compiled module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.devices.codegen.program import Program
from gpugraph.devices.cuda.driver.driver_interface import Geometry, Span
from gpugraph.devices.cuda.launching.online_totals import SourceVariant
from gpugraph.devices.cuda.transfers.gpu_array import Array


class Touches(NamedTuple):
    """The spans (address and size in bytes) of memory that a step reads and writes."""

    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()


class Work(NamedTuple):
    """A launch of a function: its source, geometry and arguments, and the memory that it reads and
    writes.

    Args:
      parts: the program and variant of the source if launches of this source may be joined
        (`joined_launches`), otherwise None.
    """

    text: str
    function: str
    geometry: Geometry
    arguments: tuple[int | float, ...]
    reads: tuple[Span, ...]
    writes: tuple[Span, ...]
    parts: tuple[Program, SourceVariant] | None = None


def ranges(arrays: Sequence[Array]) -> tuple[Span, ...]:
    """Return the address and size in bytes of each array that has elements."""
    return tuple((array.address, array.nbytes) for array in arrays if array.nbytes)


def number_words(value: Any, dtype: Any) -> tuple[int, int]:
    """Return a number as the two 64-bit words of a kernel argument.

    Args:
      dtype: the number's NumPy dtype, of at most 16 bytes.
    """
    words = np.frombuffer(np.asarray(value, dtype).tobytes().ljust(16, b"\0"), np.int64)
    return int(words[0]), int(words[1])

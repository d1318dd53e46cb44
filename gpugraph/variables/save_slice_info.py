"""Where a part of a variable lies in the whole: what a checkpoint saves it by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SaveSliceInfo:
    """A part of the variable `full_name`: `var_shape` elements from `var_offset` on."""

    full_name: str | None = None
    full_shape: Sequence[int] | None = None
    var_offset: Sequence[int] | None = None
    var_shape: Sequence[int] | None = None

    @property
    def spec(self) -> str:
        """Shape of the whole, then `offset,size` of each dimension: `"4 2 0,2:0,2"`."""
        shape = " ".join(str(size) for size in self.full_shape or ())
        bounds = zip(self.var_offset or (), self.var_shape or ())
        return f"{shape} " + ":".join(f"{offset},{size}" for offset, size in bounds)

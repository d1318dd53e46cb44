"""The stage that caches elements in memory. The elements are kept as a list, or stacked as one
block.
"""

from __future__ import annotations

from typing import Any

from gpugraph.ops.datasets.elements.row_blocks import (
    MAX_AHEAD,
    are_alike,
    as_block,
    joined,
    length,
    part,
    row,
    row_bytes,
)
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage
from gpugraph.ops.datasets.passed_stages import Passed

_LARGEST_ROW, _STRING_BYTES = 1 << 14, 64


class Cached(Passed):
    """A dataset that computes its elements once and then keeps them in memory.

    If the elements are small and have equal shapes, `block` holds them, stacked. Otherwise `rows`
    is the list of the elements.
    """

    kind = "MemoryCache"

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self.rows: list[Element] | None = None
        self.block: Element | None = None
        size = row_bytes(self.types, self.shapes, for_objects=_STRING_BYTES)
        self.can_stack = size is not None and size <= _LARGEST_ROW

    @property
    def is_full(self) -> bool:
        """Whether all elements are kept."""
        return self.rows is not None or self.block is not None

    def keep(self, blocks: list[Element]) -> None:
        """Store all elements, which are passed as blocks, unless another iteration has stored them
        already.
        """
        if self.is_full:
            return
        if blocks and self.can_stack and all(are_alike(blocks[0], block) for block in blocks):
            self.block = joined(blocks)
        else:
            self.rows = [row(block, n) for block in blocks for n in range(length(block))]

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the cached elements. If the cache is not complete yet, iterate over the
        source.
        """
        source = None if self.is_full else self.source.elements(pipeline)
        return CachedElements(self, source, pipeline)


class CachedElements(Elements):
    """An iteration over a cached dataset. If the cache is not complete, the iteration reads the
    source and stores the elements in the cache when it ends.

    Args:
      source: the iteration over the source, or None once elements are read from the cache.
    """

    def __init__(self, stage: Cached, source: Elements | None, pipeline: Pipeline) -> None:
        self.stage, self.source, self.pipeline = stage, source, pipeline
        self.index = 0
        self.blocks: list[Element] = []

    @property
    def has_rows(self) -> bool:
        """Whether this iteration can return stacked elements.

        The value is the same in all passes, because it determines the class of the iteration that
        reads the elements of this iteration.
        """
        return self.stage.can_stack

    @property
    def ahead(self) -> int:
        """The number of elements that may be read ahead. It is large if the cache has a block.
        Otherwise it is the `ahead` of the source.
        """
        if self.source is None:
            return 1 if self.stage.block is None else MAX_AHEAD
        return self.source.ahead if self.stage.can_stack else 1

    def next(self) -> Element | None:
        """Return the next element."""
        if self.source is None:
            block, rows = self.stage.block, self.stage.rows or ()
            count = len(rows) if block is None else length(block)
            index, self.index = self.index, self.index + 1
            if index >= count:
                return None
            return rows[index] if block is None else row(block, index)
        element = self.source.next()
        if element is None:
            self.stage.keep(self.blocks)
        else:
            self.blocks.append(as_block(element))
        return element

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements, stacked."""
        if self.source is not None:
            columns = self.source.next_rows(count)
            if columns is None:
                self.stage.keep(self.blocks)
            elif length(columns):
                self.blocks.append(columns)
            return columns
        if self.stage.block is None:
            return super().next_rows(count)
        start, self.index = self.index, self.index + count
        columns = part(self.stage.block, start, self.index)
        return columns if length(columns) else None

    def close(self) -> None:
        """Close the source."""
        if self.source is not None:
            self.source.close()

    def save(self) -> Any:
        """Return the position and the elements that are stored so far."""
        stage, blocks = self.stage, self.blocks
        if self.source is None:
            blocks = [as_block(element) for element in stage.rows or ()]
            blocks = blocks if stage.block is None else [stage.block]
        source = None if self.source is None else self.source.save()
        return [self.index, [list(block) for block in blocks], source]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned, with the elements that it contains."""
        self.index, blocks, source = state
        kept = [tuple(block) for block in blocks]
        if source is None:
            self.close()
            self.stage.rows = self.stage.block = self.source = None
            self.stage.keep(kept)
            return
        self.blocks = kept
        if self.source is None:
            self.source = self.stage.source.elements(self.pipeline)
        self.source.restore(source)

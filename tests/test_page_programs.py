"""The programs of the pages run without extras, except for blocks that need one."""

from __future__ import annotations

import pytest

from .page_programs import PAGES, blocks, extras_of, printing_blocks, run_page

RUN = [path.stem for path in PAGES if printing_blocks(path.stem)]
"""The pages with whole programs: the blocks of cluster.md are parts of some."""


def test_most_pages_have_programs() -> None:
    assert len(RUN) >= 12 and sum(len(printing_blocks(page)) for page in RUN) >= 49


@pytest.mark.parametrize("page", RUN)
def test_each_block_of_python_prints_what_stands_below_it(page: str) -> None:
    assert len(printing_blocks(page)) == [kind for kind, _ in blocks(page)].count("python")
    assert len(printing_blocks(page)) > len(extras_of(page))
    run_page(page, with_extras=False)

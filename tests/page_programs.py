"""Programs of the pages in docs/: blocks of Python with their output below.

The text before a block that needs an extra names it: `gpugraph[hdf5]`.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from importlib.metadata import distributions
from pathlib import Path
from types import CodeType

import gpugraph as tf

__all__ = ["PAGES", "ROOT", "blocks", "extras_of", "is_installed", "printing_blocks", "run_page"]

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def blocks(page: str = "variable_sharing") -> list[tuple[str, str]]:
    """Return (kind, text) of each block of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


def printing_blocks(page: str) -> list[tuple[str, str, str]]:
    """Return (extra, code, output) of each block of Python that has its output below it."""
    found, extra, code = [], "", ""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    for prose, kind, block in re.findall(r"(.*?)```(\w+)\n(.*?)```", text, re.DOTALL):
        if kind == "python":
            extra, code = "".join(re.findall(r"gpugraph\[(\w+)\]", prose)), block
        elif kind == "text" and code:
            found.append((extra, code, block))
            code = ""
    return found


def extras_of(page: str) -> set[str]:
    """Return the extras that blocks of the page need."""
    return {extra for extra, _, _ in printing_blocks(page)} - {""}


def is_installed(extra: str) -> bool:
    """Return whether the packages of an extra are here, by the names in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (row,) = re.findall(rf"^{extra} = \[(.*?)\]", text, re.MULTILINE)
    names = re.findall(r'"([\w-]+)', row)
    here = {distribution.name.lower().replace("_", "-") for distribution in distributions()}
    return {name.lower() for name in names} <= here


def _compiled(code: str, page: str) -> CodeType:
    """Return the code of a block, whose source `inspect` finds, as AutoGraph needs it."""
    file = f"<docs/{page}.md {len(linecache.cache)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    return compile(code, file, "exec")


def run_page(page: str, with_extras: bool) -> None:
    """Run the blocks in one namespace, and compare each one's output with the text below it."""
    names: dict[str, object] = {}
    with tf.Graph().as_default():
        for extra, code, expected in printing_blocks(page):
            if extra and not with_extras:
                continue
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(_compiled(code, page), names)
            assert re.sub(r"<docs/[^>]+>", "<string>", said.getvalue()) == expected

"""Tables and headings as HTML, for notebooks: texts in them are escaped, and none runs a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = 'style="text-align:left;vertical-align:top"'


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], most: int) -> str:
    """A table of the first `most` rows, and below it how many more there are."""
    lines = [_row("th", head), *(_row("td", row) for row in rows[:most])]
    more = f"<p>and {len(rows) - most} more</p>" if len(rows) > most else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _row(cell: str, texts: Iterable[object]) -> str:
    cells = "".join(f"<{cell} {_CELL}>{escape(str(text))}</{cell}>" for text in texts)
    return f"<tr>{cells}</tr>"


def folded(title: str, body: str, is_open: bool = False) -> str:
    """A part of a page that unfolds; `body` is HTML, the title is text."""
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(title)}</summary>{body}</details>"

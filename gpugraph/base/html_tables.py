"""Tables and headings as HTML, for notebooks. All text is escaped: values can't inject a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = 'style="text-align:left;vertical-align:top"'


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], limit: int) -> str:
    """Return a table of the first `limit` rows as HTML. A line below the table gives the number of
    omitted rows.
    """
    lines = [_row("th", head), *(_row("td", row) for row in rows[:limit])]
    more = f"<p>and {len(rows) - limit} more</p>" if len(rows) > limit else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _row(cell: str, texts: Iterable[object]) -> str:
    cells = "".join(f"<{cell} {_CELL}>{escape(str(text))}</{cell}>" for text in texts)
    return f"<tr>{cells}</tr>"


def folded(title: str, body: str, is_open: bool = False) -> str:
    """Return a collapsible section as HTML.

    Args:
      title: plain text, which is escaped.
      body: HTML.
    """
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(title)}</summary>{body}</details>"

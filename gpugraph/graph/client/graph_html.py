"""The HTML of a graph for notebooks: collapsible name scopes, and a limited number of
operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpugraph.base.html_tables import folded, html_table

MAX_ROWS = 400
"""The maximum number of listed operations; the others are only counted."""

_MAX_SCOPES = 60
_MAX_LEVELS = 12
_HEAD = ("name", "op", "device", "outputs", "inputs")


OpRow = tuple[str, str, str, str, str]
"""The row of one operation: the columns of `_HEAD`."""


def graph_html(rows: Sequence[OpRow]) -> str:
    """Return HTML, without a script, that shows the operations nested by their name scopes.

    Args:
      rows: a row for each operation.
    """
    types = Counter(op_type for _, op_type, *_ in rows)
    common = ", ".join(f"{count} {name}" for name, count in types.most_common(8))
    title = f"Graph of {len(rows)} operations" + (f": {common}" if common else "")
    listed = _Listing(MAX_ROWS)
    body = listed.scope(rows, 0)
    left = len(rows) - listed.shown
    return folded(title, body + (f"<p>{left} operations are not listed</p>" if left else ""), True)


class _Listing:
    """The HTML of operations, nested by scope, up to a maximum number of operations."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.shown = 0

    def scope(self, rows: Sequence[OpRow], level: int) -> str:
        """Return the HTML of the operations of one scope and of its inner scopes.

        Args:
          level: the depth of the scope. The root has depth 0.
        """
        own: list[OpRow] = []
        inner: dict[str, list[OpRow]] = {}
        for row in rows:
            parts = row[0].split("/", level + 1)
            if len(parts) <= level + 1 or level >= _MAX_LEVELS:
                own.append(row)
            else:
                inner.setdefault(parts[level], []).append(row)
        own = own[: self.limit - self.shown]
        self.shown += len(own)
        html = html_table(_HEAD, own, len(own)) if own else ""
        for name, members in list(inner.items())[:_MAX_SCOPES]:
            if self.shown < self.limit:
                html += folded(f"{name}/ ({len(members)})", self.scope(members, level + 1))
        return html

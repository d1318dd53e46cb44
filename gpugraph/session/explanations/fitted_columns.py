"""The formatting of rows of text in columns that fit a given width. Long texts are shortened in the
middle.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

MIN_WIDTH = 10
"""The minimum width of a column in characters, however narrow the table is."""


def fitted_columns(rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Return a text with one line for each row, with aligned columns.

    Args:
      width: the length to which lines are shortened, unless a column would become narrower than
        `MIN_WIDTH`. If it is None, nothing is shortened.
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    if width is not None:
        widths = _narrowed(widths, width - len(widths) + 1)
    return "\n".join(
        " ".join(f"{shortened(text, size):<{size}}" for text, size in zip(row, widths)).rstrip()
        for row in rows
    )


def _narrowed(widths: Sequence[int], total: int) -> list[int]:
    """Return column widths with a sum of at most `total`. The widest columns shrink first, down to
    `MIN_WIDTH`.
    """
    narrow = list(widths)
    over = sum(narrow) - total
    while over > 0 and max(narrow) > MIN_WIDTH:
        widest = max(narrow)
        places = [place for place, width in enumerate(narrow) if width == widest]
        below = max((width for width in narrow if width < widest), default=MIN_WIDTH)
        step = min(widest - max(below, MIN_WIDTH), max(over // len(places), 1))
        for place in places:
            if over > 0:
                narrow[place] -= step
                over -= step
    return narrow


def shortened(text: str, width: int) -> str:
    """Return the text. If it is longer than `width`, keep only its beginning and its end, with two
    dots between them.
    """
    if len(text) <= width:
        return text
    head = (width - 2) // 2
    return f"{text[:head]}..{text[len(text) - (width - 2 - head) :]}"


def wrapped(line: str, width: int | None, indent: str = "") -> str:
    """Return a line wrapped at `width` characters. Continuation lines are indented by four more
    spaces.
    """
    if width is None:
        return indent + line
    return textwrap.fill(
        line,
        max(width, 4 * MIN_WIDTH),
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_on_hyphens=False,
    )

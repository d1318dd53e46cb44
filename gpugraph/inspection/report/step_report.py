"""StepReport: one step after its run, as an HTML page."""

from __future__ import annotations

import html
import json
from functools import cache
from pathlib import Path

from gpugraph.inspection.report.report_data import report_data
from gpugraph.plan import GraphRecord, Plan
from gpugraph.runtime import StepTrace

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("elements", "scopes", "graph_view", "time_view", "tables", "report")
_HEIGHT = 900


class StepReport:
    """The report of one run: its graph, times, memory, fusion and placement.

    `write(path)` writes the HTML page, `html()` returns its text, and `data` is its content as
    lists and numbers that JSON can hold. A notebook displays the page.
    """

    def __init__(self, plan: Plan, trace: StepTrace, graph: GraphRecord) -> None:
        self.data = report_data(plan, trace, graph)

    @property
    def title(self) -> str:
        """The fetches and targets of the step."""
        return str(self.data["title"])

    def html(self) -> str:
        """Return the whole page as ASCII text. The page includes style, script and data, and loads
        no other file.
        """
        values = {
            "title": html.escape(self.title),
            "style": _file("report.css"),
            "script": "\n".join(_file(f"{name}.js") for name in _SCRIPTS),
            "data": json_in_html(self.data),
        }
        parts = _file("report.html").split("%%")
        page = "".join(values[part] if index % 2 else part for index, part in enumerate(parts))
        return page.encode("ascii", "xmlcharrefreplace").decode("ascii")

    def write(self, path: str | Path) -> None:
        """Write the page to a file. Raises OSError if the file can't be written."""
        Path(path).write_text(self.html(), "ascii")

    def __repr__(self) -> str:
        counts = self.data["counts"]
        return f"<StepReport of '{self.title}': {counts['steps']} steps, {counts['nodes']} nodes>"

    def _repr_html_(self) -> str:
        """Return the page in an iframe. The iframe isolates the page's style and script."""
        return (
            f'<iframe srcdoc="{html.escape(self.html())}" sandbox="allow-scripts" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )


def json_in_html(value: object) -> str:
    """Return `value` as JSON, escaped so that no text in it can close an HTML element or open a
    comment.
    """
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _file(name: str) -> str:
    return (_PAGE / name).read_text("ascii")

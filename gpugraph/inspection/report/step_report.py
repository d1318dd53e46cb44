"""StepReport: a step that has run, as one HTML page."""

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
    """One run: its graph, times, memory, fusion and placement.

    `write(path)` writes the page, `html()` is its text, `data` is what it shows: lists and numbers
    that JSON holds. A notebook shows the page.
    """

    def __init__(self, plan: Plan, trace: StepTrace, graph: GraphRecord) -> None:
        self.data = report_data(plan, trace, graph)

    @property
    def title(self) -> str:
        """What the step fetches and runs."""
        return str(self.data["title"])

    def html(self) -> str:
        """The whole page, in ASCII: style, script and data are in it, and it loads nothing."""
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
        """Writes the page to a file; OSError where that can't be."""
        Path(path).write_text(self.html(), "ascii")

    def __repr__(self) -> str:
        counts = self.data["counts"]
        return f"<StepReport of '{self.title}': {counts['steps']} steps, {counts['nodes']} nodes>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and script stay there."""
        return (
            f'<iframe srcdoc="{html.escape(self.html())}" sandbox="allow-scripts" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )


def json_in_html(value: object) -> str:
    """JSON that ends no element and begins no comment, whatever the texts in it are."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _file(name: str) -> str:
    return (_PAGE / name).read_text("ascii")

"""The page of a report in headless Chromium: its parts, folding, search, and hostile names."""

from __future__ import annotations

import html
import json
import re
import struct
from pathlib import Path
from typing import Any

from gpugraph.inspection.report.step_report import StepReport
from tests.inspection.report.conftest import ROOT, Browse

PICTURE = ROOT / "docs" / "step_report.png"
MOST_BYTES = 300_000

CHECK = r"""
const faults = [];
window.addEventListener("error", (event) => faults.push(String(event.message)));
window.addEventListener("load", () => {
  const all = (query) => [...document.querySelectorAll(query)];
  const one = (query) => document.querySelector(query);
  const click = (query) => one(query).dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const search = (text) => {
    one("#search").value = text;
    one("#search").dispatchEvent(new Event("input"));
  };
  const rows = (query) => all(`${query} tbody tr`).map((row) => row.textContent);
  const names = () => all("#graph .item").map((item) => item.dataset.name);
  const canvas = one("#time");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const result = { faults, scripts: document.scripts.length, images: document.images.length };
  try {
    result.ready = document.documentElement.dataset.ready;
    result.lanes = all("#graph .lane").length;
    result.items = names().length;
    result.colors = new Set(new Uint32Array(pixels.buffer)).size;
    result.dearest = rows("#dearest").length;
    result.charts = all("#memory .chart").length;
    result.owners = rows("#memory").length;
    result.fused = rows("#fusion").length;
    result.placed = rows("#placement");
    result.passes = all("#passes summary b").map((name) => name.textContent);
    result.transfers = all("#graph .edge.transfer").length;
    __ACTIONS__
  } catch (error) { faults.push(String(error)); }
  result.loaded = performance.getEntriesByType("resource").length;
  const text = document.createElement("pre");
  text.id = "check";
  text.textContent = JSON.stringify(result);
  document.body.append(text);
});
"""

ACTIONS = r"""
    click("#fold-all");
    result.folded = names();
    click('#graph .item[data-name="lower"]');
    result.unfolded = names();
    click('[data-fold="lower"]');
    result.folded_again = names();
    search("applyadam lower/first");
    result.matches = one("#matches").textContent;
    result.found = rows("#placement");
    result.highlighted = all("#graph .item.match").map((item) => item.dataset.name);
    click("#next");
    result.second = one("#matches").textContent;
    result.shown = one("#details h3").textContent;
    result.chosen = all("#graph .item.selected").map((item) => item.dataset.name);
    search("requested cpu:1");
    result.requested = rows("#placement");
    search("no such thing");
    result.nothing = one("#placement .more").textContent;
    search("");
    result.all_again = rows("#placement").length;
    click("#placement tbody tr[data-node]");
    result.of_row = one("#details h3").textContent;
    const range = one("#range").textContent;
    click("#zoom-in");
    result.zoomed = one("#range").textContent !== range;
    click("#zoom-all");
    result.unzoomed = one("#range").textContent === range;
"""


def checked(report: StepReport, browse: Browse, folder: Path, actions: str = "") -> Any:
    """Return the check's result for the page, and the console's lines."""
    page = folder / "page.html"
    check = f"<script>{CHECK.replace('__ACTIONS__', actions)}</script>"
    page.write_text(report.html().replace("<style>", f"{check}<style>", 1), "ascii")
    dom, console = browse(page, "--dump-dom")
    (text,) = re.findall(r'<pre id="check">(.*?)</pre>', dom, re.DOTALL)
    return json.loads(html.unescape(text)), console


def test_the_parts_of_the_page_are_there_and_fold_and_search(
    two_devices: StepReport, browse: Browse, tmp_path: Path
) -> None:
    seen, console = checked(two_devices, browse, tmp_path, ACTIONS)
    assert seen["faults"] == [] and console == [] and seen["ready"] == "yes"
    assert seen["loaded"] == 0
    assert seen["lanes"] == 2 and seen["charts"] == 2 and seen["transfers"] > 0
    assert seen["dearest"] == 10 and seen["owners"] == 12 and seen["fused"] > 2
    assert seen["colors"] > 5 and {"placer", "fusion_groups", "memory_planning"} <= set(
        seen["passes"]
    )
    assert seen["requested"]
    assert all("requested '/device:CPU:1'" in row for row in seen["requested"])

    assert "lower" in seen["folded"] and "lower/first" not in seen["folded"]
    assert "lower/first" in seen["unfolded"] and "lower" not in seen["unfolded"]
    assert seen["folded_again"] == seen["folded"]

    assert seen["matches"] == "2 nodes" and seen["second"] == "1 of 2 nodes"
    assert len(seen["found"]) == 2 and all("ApplyAdam" in row for row in seen["found"])
    assert seen["highlighted"] == ["train"]
    assert seen["chosen"] == [seen["shown"]]
    assert re.fullmatch(r"train/update_lower/first/(kernel|bias)/ApplyAdam", seen["shown"])
    assert seen["nothing"] == "Nothing here matches." and seen["all_again"] == 40
    assert seen["of_row"] and seen["zoomed"] and seen["unzoomed"]


HOSTILE = "</script><script>document.images[9].x</script><img src=x onerror=alert(1)>&lt;<!--'\"`%%"


def test_hostile_texts_are_shown_as_they_are(
    two_devices: StepReport, browse: Browse, tmp_path: Path
) -> None:
    report = StepReport.__new__(StepReport)
    report.data = _with_hostile_texts(two_devices.data)
    seen, console = checked(report, browse, tmp_path)
    assert seen["faults"] == [] and console == [] and seen["ready"] == "yes"
    assert (seen["scripts"], seen["images"], seen["loaded"]) == (3, 0, 0)
    assert all(HOSTILE in row for row in seen["placed"])


def _with_hostile_texts(value: Any) -> Any:
    """The same data with other texts at the end of every name, op and reason."""
    if isinstance(value, dict):
        return {key: _with_hostile_texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_hostile_texts(item) for item in value]
    return value + HOSTILE if isinstance(value, str) else value


def png_size(path: Path) -> tuple[int, int]:
    """Return the width and height of a PNG."""
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_a_picture_is_taken_of_the_page_as_in_the_docs(
    two_devices: StepReport, browse: Browse, tmp_path: Path
) -> None:
    page, picture = tmp_path / "step.html", tmp_path / "step.png"
    two_devices.write(page)
    size = png_size(PICTURE)
    options = (f"--screenshot={picture}", f"--window-size={size[0]},{size[1]}")
    _, console = browse(page, *options)
    assert console == []
    assert png_size(picture) == size
    assert 50_000 < picture.stat().st_size < 2 * MOST_BYTES


def test_the_docs_show_the_picture() -> None:
    assert PICTURE.stat().st_size < MOST_BYTES
    assert f"]({PICTURE.name})" in (ROOT / "docs" / "seeing_a_step.md").read_text("utf-8")

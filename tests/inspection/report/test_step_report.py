"""StepReport: a page that holds all it shows, and where it comes from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.inspection.report.step_report import StepReport, json_in_html


def test_a_page_is_whole_and_loads_nothing(two_devices: StepReport, tmp_path: Path) -> None:
    page = two_devices.html()
    assert page.isascii() and page.count("<script") == page.count("</script>") == 2
    assert not re.search(r"(src|href)=\"(?!#)", page) and "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"']*", page)) == {"http://www.w3.org/2000/svg"}
    two_devices.write(tmp_path / "step.html")
    assert (tmp_path / "step.html").read_text() == page
    with pytest.raises(OSError):
        two_devices.write(tmp_path / "none" / "step.html")


def test_a_notebook_shows_it_in_a_frame(two_devices: StepReport) -> None:
    frame = two_devices._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and frame.count("<") == 2
    assert repr(two_devices).startswith("<StepReport of 'loss/mean:0, train': ")


def test_no_text_ends_the_data() -> None:
    text = json_in_html(["</script>", "<!--", "&amp;", "\u2028"])
    assert not set("<>&\u2028") & set(text)


@pytest.fixture
def counting():
    """Yield a session, and a variable that each step makes one more."""
    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.Variable(0.0, name="count")
        step = tf.assign_add(count, 1.0, name="step")
        session.run(count.initializer)
        yield session, count, step


def test_a_session_reports_one_run(counting, tmp_path: Path) -> None:
    session, count, step = counting
    report = session.report(tmp_path / "step.html", step)
    assert session.run(count) == 1.0
    assert "step" in [row[0] for row in report.data["steps"]]
    assert (tmp_path / "step.html").read_text() == report.html()
    assert report.title == "step:0"
    x = tf.placeholder(tf.float32, [2])
    assert session.report(None, {"y": x * 2.0}, {x: np.ones(2)}).data["nodes"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
        session.report(None, x * 2.0)
    assert session.run(step) == 2.0


def test_without_fetches_it_is_of_the_last_traced_run(counting) -> None:
    session, count, step = counting
    with pytest.raises(ValueError, match="no traced run to report: pass fetches, or first run"):
        session.report(None)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(step, options=options, run_metadata=tf.RunMetadata())
    session.run(count)
    assert session.report(None).title == "step:0"
    assert session.run(count) == 1.0
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.report(None)

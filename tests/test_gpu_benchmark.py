"""The rows of benchmarks/gpu.py, at sizes for a test and on the CPU: they build, learn, agree."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.append(str(FOLDER))
gpu, gpu_graph, gpu_machine, gpu_peers, gpu_table, gpu_work = map(
    importlib.import_module,
    ("gpu", "gpu_graph", "gpu_machine", "gpu_peers", "gpu_table", "gpu_work"),
)
ROWS = gpu.rows(gpu.TINY)
TRAINED = [row for row in ROWS if row.endswith("step")]


@pytest.fixture(autouse=True)
def _closed():
    yield
    gpu_graph.forget()


def results(row, column):
    made = ROWS[row].columns[column]()
    return [np.asarray(made.results(), float) for _ in range(3)]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_gives_finite_numbers_and_numpys(row):
    own = results(row, "gpugraph")
    assert all(np.isfinite(each).all() for each in own)
    if row in TRAINED:
        assert own[0] > own[1] > own[2] > 0
    if "numpy" in ROWS[row].columns:
        far = gpu_peers.difference(results(row, "numpy"), own)
        assert far <= ROWS[row].tolerance


def test_the_rows_of_a_gpu_are_those_that_were_promised():
    names = " ".join(gpu.rows(gpu.Sizes()))
    for word in ("one op", "784-4096", "ResNet-50", "transformer", "copy", "bfloat16", "attention"):
        assert word in names
    assert len(TRAINED) == 4


def test_rows_with_convolutions_compare_cudnn_with_our_kernels(monkeypatch):
    with_it = [row for row in ROWS if gpu_peers.OWN_CONVOLUTIONS in ROWS[row].columns]
    assert len(with_it) == 3 and all("onvolution" in row or "ResNet" in row for row in with_it)
    assert gpu_peers.COLUMNS[gpu_peers.OWN_CONVOLUTIONS].settings == {"GPUGRAPH_CUDNN": "0"}
    for is_there in (True, False):
        monkeypatch.setattr(gpu_peers, "is_installed", lambda package, it=is_there: it)
        assert ("nvidia.cudnn" in gpu_peers.pythons(False)) == is_there
    monkeypatch.undo()
    assert not gpu_peers.is_installed("no_such_package.inside")


def test_a_step_is_measured_with_what_it_leaves_behind():
    told = []
    done = gpu_work.measure(
        gpu_work.Work(lambda: told.append("step"), lambda: told.append("done"), list), 0.001
    )
    assert told[-1] == "done" and told.count("step") > told.count("done")
    assert set(done) == {"us", "host_us"} and min(done.values()) >= 0


def compared(script, monkeypatch, seconds=60.0):
    monkeypatch.setattr(gpu_peers, "COLUMNS", {"gpugraph": gpu_peers.COLUMNS["gpugraph"]})
    rows = {"one op, fed and fetched": ROWS["one op, fed and fetched"]}
    return gpu_peers.compare(rows, str(script), [], 1, seconds)


def test_what_fails_is_left_out_with_its_reason(tmp_path, monkeypatch):
    script = tmp_path / "nothing.py"
    script.write_text("raise SystemExit('no such thing')\n")
    found = compared(script, monkeypatch)
    assert found["left_out"] == ["gpugraph: its process ended: no such thing"]
    assert found["rows"]["one op, fed and fetched"]["columns"] == {}


def test_what_does_not_fit_is_said(monkeypatch):
    found = compared(FOLDER / "gpu.py", monkeypatch, seconds=0.0)
    assert found["left_out"] == ["one op, fed and fetched: the 0 s were over"]


def test_a_process_that_hangs_is_given_up(tmp_path, monkeypatch):
    script = tmp_path / "hangs.py"
    script.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(gpu_peers, "START_SECONDS", 0.2)
    assert compared(script, monkeypatch)["left_out"] == ["gpugraph: over 0 s"]


ANSWERS = """
import json, os, sys
for line in sys.stdin:
    asked, name = json.loads(line)
    lost = {"error": f"lost by {os.getpid()}"}
    answer = {"versions": "1"} if asked == "start" else lost
    print(json.dumps(answer), flush=True)
"""


def test_a_process_that_fails_starts_anew_and_each_row_is_told(tmp_path, monkeypatch):
    """A GPU that it has lost is not lost to the next row."""
    script = tmp_path / "lost.py"
    script.write_text(ANSWERS)
    monkeypatch.setattr(gpu_peers, "COLUMNS", {"gpugraph": gpu_peers.COLUMNS["gpugraph"]})
    rows = dict(list(ROWS.items())[:2])
    told = []
    found = gpu_peers.compare(
        rows, str(script), [], 1, 60.0, lambda known: told.append(list(known["rows"]))
    )
    assert len({each.rpartition(" ")[2] for each in found["left_out"]}) == 2
    assert told == [list(rows)[:1], list(rows)]


def test_who_takes_too_long_gets_less_time_for_the_next_row(tmp_path, monkeypatch):
    script = tmp_path / "hangs.py"
    script.write_text(ANSWERS.replace("lost = {", "asked == 'start' or time.sleep(60); lost = {"))
    script.write_text(script.read_text().replace("import json", "import time, json"))
    monkeypatch.setattr(gpu_peers, "COLUMNS", {"gpugraph": gpu_peers.COLUMNS["gpugraph"]})
    monkeypatch.setattr(gpu_peers, "PREPARE_SECONDS", 2.0)
    found = gpu_peers.compare(dict(list(ROWS.items())[:2]), str(script), [], 1, 60.0)
    assert [each.rpartition(": ")[2] for each in found["left_out"]] == ["over 2 s", "over 1 s"]


def test_the_machine_says_which_sources_they_are(monkeypatch):
    monkeypatch.setenv("PATH", "")  # where there is no git
    monkeypatch.setenv("GPUGRAPH_COMMIT", "abc123")
    about = gpu_machine.machine(emulated=True)["gpugraph"]
    assert "commit abc123, sources " in about and len(about.rpartition(" ")[2]) == 12


def record():
    step = {"us": 20.0, "host_us": 9.0, "prepare_s": 1.0}
    far = {"difference": 0.5, "differs": True}
    return {
        "emulated": False,
        "machine": {"GPU": "one"},
        "versions": {"gpugraph": "1"},
        "rows": {
            "a step": {
                "unit": "",
                "columns": {"gpugraph": step, "jax": {**step, "us": 30.0, **far}},
            },
            "copy of 1 MiB": {"unit": "GB/s", "columns": {"torch": {**step, "rate": 1000.0}}},
            "a chain": {"unit": "GB/s", "columns": {"gpugraph": {**step, "rate": 950.0}}},
        },
        "left_out": ["all else"],
    }


def test_the_tables_say_times_rates_aims_and_who_differs():
    text = gpu_table.tables(json.loads(json.dumps(record())))
    assert "| a step | 20 us | 30 us |  | jax 1.50 |" in text
    assert "- a chain: 95% of the fastest copy (aim 90%: reached)" in text
    assert "- a step: 9.0 us of host time (aim 15: reached)" in text
    assert "5.0e-01 DIFFERS" in text and text.endswith("- all else")


def test_results_that_are_too_far_off_are_found():
    row = gpu_peers.Row({}, tolerance=0.1)
    base = {"us": 1.0, "host_us": 1.0}
    found = {"gpugraph": {**base, "results": [[1.0]]}, "jax": {**base, "results": [[1.2]]}}
    assert gpu_peers.judged(row, found)["jax"]["differs"]
    found["jax"]["results"] = [[float("nan")]]
    assert gpu_peers.judged(row, found)["jax"]["differs"]

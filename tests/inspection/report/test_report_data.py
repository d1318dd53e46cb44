"""The data of a step's report: rows that refer to each other, and bounds."""

from __future__ import annotations

import json
import math

from gpugraph.inspection.report import report_data
from gpugraph.inspection.report.step_report import StepReport


def test_rows_refer_to_what_is_there(two_devices: StepReport) -> None:
    data = two_devices.data
    texts, devices = len(data["texts"]), len(data["devices"])
    count = len(data["nodes"])
    assert devices == 2 and count == data["counts"]["nodes"]
    for place, (name, op, device, depth, edges, outputs, size, _) in enumerate(data["nodes"]):
        assert isinstance(name, str) and 0 <= op < texts and 0 <= outputs < texts
        assert 0 <= device < devices and depth >= 0 and size >= 0
        for source, kind in edges:
            assert 0 <= source < place
            assert kind == report_data.CONTROL or (
                (data["nodes"][source][2] != device) == (kind == report_data.TRANSFER)
            )
    for _, op, device, lane, start, duration, how, places in data["steps"]:
        assert 0 <= op < texts and 0 <= how < texts and 0 <= device < devices and lane >= 0
        assert 0 <= start <= data["run_us"] and 0 < duration < math.inf
        assert all(data["nodes"][place][2] == device for place in places)
    transfers = [edge for node in data["nodes"] for edge in node[4] if edge[1] == 2]
    assert len(transfers) == len(data["transfers"]) > 0


def test_the_peak_is_the_sum_of_its_owners(two_devices: StepReport) -> None:
    for memory in two_devices.data["memory"]:
        assert memory["peak"] == sum(size for _, _, size in memory["owners"]) > 0
        assert max(size for _, size in memory["curve"]) <= memory["peak"]
        assert {kind for _, kind, _ in memory["owners"]} >= {"variable", "arena"}
    kernel = next(row for row in two_devices.data["memory"][0]["owners"] if "kernel" in row[0])
    assert kernel == ["lower/first/kernel", "variable", 784 * 256 * 4]


def test_data_is_bounded(two_devices: StepReport) -> None:
    assert report_data.cut("x" * 5000) == "x" * 500 + " ... " + "x" * 500
    assert report_data.bounded(["a", "b", "c"], 2) == (["a", "b"], 1)
    assert len(json.dumps(two_devices.data)) < 100_000

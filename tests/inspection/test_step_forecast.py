"""Forecasts of steps: memory, transfers, and the time of devices that run side by side."""

from __future__ import annotations

from gpugraph.base.dtypes import float32
from gpugraph.graph.op_def import NodeDef
from gpugraph.inspection.step_forecast import StepForecast
from gpugraph.plan import GraphRecord, NodeRecord, StorageRecord, TensorRecord

ONE, TWO = (f"/job:localhost/replica:0/task:0/device:GPU:{number}" for number in range(2))


def node(name, op, device, inputs=(), seconds=0.0, received=None, storage=-1):
    node_def = NodeDef(name, op, list(inputs), device)
    outputs = (TensorRecord(float32, (256,), storage),)
    return NodeRecord(node_def, 0, outputs, (), received, seconds)


def record():
    return GraphRecord(
        [
            node("a", "MatMul", ONE, seconds=2.0, storage=1),
            node("b", "MatMul", TWO, seconds=3.0),
            node("send", "_Send", TWO, ["b"]),
            node("recv", "_Recv", ONE, [], 1.0, ("b", TWO), storage=2),
            node("sum", "Add", ONE, ["a", "recv"], 0.5),
        ],
        [
            StorageRecord("variable", ONE, "w", 0, 4096),
            StorageRecord("arena", ONE, "a", 0, 1024, (0, 4)),
            StorageRecord("arena", ONE, "recv", 1024, 1024, (3, 4)),
        ],
    )


def test_devices_run_side_by_side() -> None:
    forecast = StepForecast(record())
    assert forecast.seconds == 4.5  # not 6.5
    assert [name for name, _ in forecast.critical_path] == ["b", "send", "recv", "sum"]
    assert forecast.devices[ONE].busy == 2.5


def test_memory_and_transfers() -> None:
    forecast = StepForecast(record())
    device = forecast.devices[ONE]
    assert (device.lasting, device.peak, device.node) == (4096, 4096 + 2048, "recv")
    assert [tuple(item) for item in forecast.transfers] == [(TWO, ONE, 1, 1024)]
    assert forecast.variables == {(ONE, "w"): 4096}
    text = forecast.text({ONE: 5000})
    assert "GPU:0: 6.0KiB of 4.9KiB at 'recv'" in text
    assert "does not fit: 1.1KiB are missing" in text
    assert "GPU:1 -> GPU:0: 1, 1.0KiB" in text


def test_a_link_carries_one_tensor_at_a_time() -> None:
    graph = GraphRecord(
        [
            node("b", "MatMul", TWO),
            node("send", "_Send", TWO, ["b"]),
            node("recv1", "_Recv", ONE, [], 1.0, ("b", TWO)),
            node("recv2", "_Recv", ONE, [], 1.0, ("b", TWO)),
        ],
        [],
    )
    assert StepForecast(graph).seconds == 2.0

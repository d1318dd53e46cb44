"""Candidates: the order in which devices are preferred."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.compile.placement.device_candidates import Candidates, ColocationGroup
from gpugraph.devices import DeviceFactory
from gpugraph.devices.cpu_device import CPUDevice
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph
from gpugraph.ops.framework.kernel_registry import _KERNELS, register_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from ..stages import make_target


class Factory:
    """Makes `count` devices of a type, which are CPUs by another name."""

    def __init__(self, kind: str, count: int) -> None:
        self.kind, self.count = kind, count

    def create_devices(self, options, name_prefix):
        values = [
            CPUDevice(f"{name_prefix}/device:{self.kind}:{index}") for index in range(self.count)
        ]
        for device in values:
            device.device_type = self.kind
        return values


KINDS = (("SLOW", 55, 1), ("BETA", 50, 1), ("ALPHA", 50, 2), ("QUICK", 300, 2))


@pytest.fixture
def _kinds():
    for kind, priority, count in KINDS:
        DeviceFactory.register(kind, Factory(kind, count), priority)
        register_kernel("Neg", kind, DECLARATIONS["Neg"] and _KERNELS["Neg", "CPU"][0].kernel)
    yield
    for kind, _, _ in KINDS:
        DeviceFactory.unregister(kind)
        del _KERNELS["Neg", kind]


def negation(request: str = "", dtype: tf.DType = tf.float32):
    return RuntimeGraph().add_node(
        "y",
        DECLARATIONS["Neg"].op_def,
        attrs={"T": dtype},
        input_types=[dtype],
        output_types=[dtype],
        requested_device=request,
    )


def short(names):
    return [name.rpartition("device:")[2] for name in names]


@pytest.mark.usefixtures("_kinds")
def test_higher_priority_comes_first_then_type_names_then_numbers():
    names, reason = Candidates(make_target(cpus=2, gpus=2)).of(ColocationGroup([negation()]))
    assert short(names) == [
        "QUICK:0", "QUICK:1", "GPU:0", "GPU:1", "CPU:0", "CPU:1", "SLOW:0",
        "ALPHA:0", "ALPHA:1", "BETA:0",
    ]  # fmt: skip
    assert reason == "QUICK has the highest priority"


@pytest.mark.usefixtures("_kinds")
def test_of_the_best_type_without_a_kernel_the_reason_says_so():
    group = ColocationGroup([negation()])
    kept = _KERNELS.pop(("Neg", "QUICK"))
    try:
        names, reason = Candidates(make_target(gpus=1)).of(group)
    finally:
        _KERNELS["Neg", "QUICK"] = kept
    assert short(names)[0] == "GPU:0"
    assert reason.startswith("no QUICK kernel: Neg ('y') has none; it has kernels for CPU, GPU")


def test_a_partial_request_leaves_a_choice():
    names, reason = Candidates(make_target(gpus=2)).of(ColocationGroup([negation("/device:GPU:*")]))
    assert short(names) == ["GPU:0", "GPU:1"]
    assert reason == "requested '/device:GPU:*'"


def test_an_answer_is_remembered_for_the_next_node_of_the_same_request():
    candidates = Candidates(make_target(gpus=2))
    first = candidates.of(ColocationGroup([negation("/device:GPU:1")]))
    assert candidates.of(ColocationGroup([negation("/device:GPU:1")])) is first

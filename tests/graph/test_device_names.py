"""Device names: parsing, merging and matching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.graph.device_names import (
    DeviceSpec,
    canonical_name,
    check_valid,
    combine_specs,
    is_full_name,
    is_specification_of,
    matches,
    merge_device,
    merge_specs,
    without_type_and_id,
)

FULL = "/job:worker/replica:0/task:1/device:GPU:2"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("/", ""),
        ("/gpu:1", "/device:GPU:1"),
        ("/cpu:0", "/device:CPU:0"),
        ("/GPU:1", "/device:GPU:1"),
        ("/Gpu:1", "/device:GPU:1"),
        ("gpu:0", "/device:GPU:0"),
        ("/gpu", "/device:GPU:*"),
        ("/gpu:*", "/device:GPU:*"),
        ("/device:GPU:*", "/device:GPU:*"),
        ("/device:gpu:0", "/device:GPU:0"),
        ("/device:XLA_GPU:3", "/device:XLA_GPU:3"),
        ("/device:xla_gpu:3", "/device:xla_gpu:3"),
        ("/job:ps", "/job:ps"),
        ("job:ps/task:3", "/job:ps/task:3"),
        ("/task:3/job:ps", "/job:ps/task:3"),
        ("/job:a/gpu:1", "/job:a/device:GPU:1"),
        ("//job:a//cpu:0", "/job:a/device:CPU:0"),
        ("/job:ps/job:w", "/job:w"),
        ("/job:*/replica:*/task:*/device:*:*", ""),
        (FULL, FULL),
    ],
)
def test_one_spelling(text: str, canonical: str) -> None:
    assert canonical_name(text) == canonical
    assert DeviceSpec.from_string(text).to_string() == canonical
    check_valid(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/foo", "Unknown attribute: 'foo' in '/foo'"),
        ("foo", "Unknown attribute: 'foo' in 'foo'"),
        ("/job:a/foo:1", "Unknown attribute: 'foo' in '/job:a/foo:1'"),
        ("/device:CPU", "Unknown attribute: 'device' in '/device:CPU'"),
        ("/device:a:b:c", "Unknown attribute: 'device' in '/device:a:b:c'"),
        ("/job:a:b", "Unknown attribute: 'job' in '/job:a:b'"),
        ("/gpu:0/cpu:0", "Cannot specify multiple device types: /gpu:0/cpu:0"),
        ("/cpu:0/device:CPU:0", "Cannot specify multiple device types: /cpu:0/device:CPU:0"),
        ("/gpu:x", "invalid literal for int() with base 10: 'x' in '/gpu:x', nor is it '*'"),
        (
            "/job:ps/task:x",
            "invalid literal for int() with base 10: 'x' in '/job:ps/task:x', nor is it '*'",
        ),
        ("/replica:", "invalid literal for int() with base 10: '' in '/replica:', nor is it '*'"),
    ],
)
def test_what_is_no_name(text: str, message: str) -> None:
    for parse in (canonical_name, check_valid, DeviceSpec.from_string, merge_device):
        for _ in range(2):  # errors are not cached as answers
            with pytest.raises(ValueError) as caught:
                parse(text)
            assert str(caught.value) == message


# DeviceSpec


def test_spec_fields() -> None:
    spec = DeviceSpec.from_string(FULL)
    fields = (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index)
    assert fields == ("worker", 0, 1, "GPU", 2)
    assert spec == DeviceSpec("worker", 0, 1, "GPU", 2)
    empty = DeviceSpec.from_string(None)
    assert empty == DeviceSpec()
    assert empty.to_string() == ""
    assert (empty.job, empty.device_index) == (None, None)


def test_spec_makes_text_of_what_it_is_given() -> None:
    assert DeviceSpec(job="a", device_type="gpu", device_index=1).to_string() == (
        "/job:a/device:GPU:1"
    )
    assert DeviceSpec(device_index=1).to_string() == ""
    assert DeviceSpec(device_type="GPU").to_string() == "/device:GPU:*"
    assert DeviceSpec(job="x", replica="1").replica == 1  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        DeviceSpec(replica="q")  # type: ignore[arg-type]


def test_spec_can_be_changed() -> None:
    spec = DeviceSpec()
    spec.job, spec.replica, spec.task = "a", 0, 1
    spec.device_type, spec.device_index = "gpu", 3
    assert spec.to_string() == "/job:a/replica:0/task:1/device:GPU:3"
    spec.device_index = None
    assert spec.to_string() == "/job:a/replica:0/task:1/device:GPU:*"
    assert spec.parse_from_string("/cpu:0") is spec
    assert spec.to_string() == "/device:CPU:0"
    assert DeviceSpec.from_string("/cpu:0").job is None  # cached texts are not changed


def test_spec_merging() -> None:
    spec = DeviceSpec(job="a", device_type="CPU")
    spec.merge_from(DeviceSpec.from_string("/task:2/gpu:1"))
    assert spec.to_string() == "/job:a/task:2/device:GPU:1"
    merged = DeviceSpec(job="a").make_merged_spec(DeviceSpec(job="b", task=0))
    assert merged.to_string() == "/job:b/task:0"
    replaced = DeviceSpec(job="a").replace(task=2)
    assert replaced.to_string() == "/job:a/task:2"
    with pytest.raises(TypeError):
        DeviceSpec().replace(colour="red")


def test_spec_equality_and_repr() -> None:
    assert hash(DeviceSpec("a")) == hash(DeviceSpec("a"))
    assert DeviceSpec("a") != DeviceSpec("b")
    assert DeviceSpec("a") != "/job:a"
    assert repr(DeviceSpec(job="a")) == (
        "<DeviceSpec(job=a, replica=None, task=None, device_type=None, device_index=None)>"
    )


# Merging


@dataclass
class Def:
    device: Any


@pytest.mark.parametrize(
    ("inner", "outer", "merged"),
    [
        ("/cpu:*", "/gpu:1", "/device:CPU:1"),
        ("/cpu", "/gpu:1", "/device:CPU:1"),
        ("/job:b", "/job:a/gpu:1", "/job:b/device:GPU:1"),
        ("/task:1", "/job:a", "/job:a/task:1"),
        ("/gpu:0", "", "/device:GPU:0"),
        ("", "/gpu:0", "/device:GPU:0"),
        ("", "", ""),
    ],
)
def test_the_inner_request_wins_field_by_field(inner: str, outer: str, merged: str) -> None:
    assert merge_specs(inner, outer) == merged
    assert merge_device(outer)(Def(inner)) == merged
    assert merge_device(DeviceSpec.from_string(outer))(Def(inner)) == merged


def test_device_functions_read_what_a_node_asks_for() -> None:
    around = merge_device("/job:a/gpu:1")
    assert around(Def("")) == "/job:a/device:GPU:1"
    assert around(Def(None)) == "/job:a/device:GPU:1"
    assert merge_device(None)(Def("/cpu:0")) == "/device:CPU:0"


def test_combining_refuses_conflicts() -> None:
    assert combine_specs("/job:a", "/gpu:0") == "/job:a/device:GPU:0"
    assert combine_specs("/gpu:*", "/device:GPU:1") == "/device:GPU:1"
    conflicts = {
        ("/job:a", "/job:b"): "incompatible jobs: '/job:a' and '/job:b'",
        ("/replica:0", "/replica:1"): "incompatible replicas",
        ("/task:0", "/task:1"): "incompatible tasks",
        ("/cpu:0", "/gpu:0"): "incompatible types",
        ("/gpu:0", "/gpu:1"): "incompatible ids",
    }
    for (first, second), message in conflicts.items():
        with pytest.raises(InvalidArgumentError, match=message):
            combine_specs(first, second)


def test_soft_combining_gives_up_type_and_index_only() -> None:
    assert combine_specs("/job:a/cpu:0", "/gpu:0", allow_soft_placement=True) == "/job:a"
    assert combine_specs("/gpu:0", "/gpu:1", allow_soft_placement=True) == "/device:GPU:*"
    with pytest.raises(InvalidArgumentError, match="jobs"):
        combine_specs("/job:a", "/job:b", allow_soft_placement=True)


def test_soft_placement_keeps_the_task() -> None:
    assert without_type_and_id(FULL) == "/job:worker/replica:0/task:1"
    assert without_type_and_id("/gpu:0") == ""


# Matching


@pytest.mark.parametrize("spec", ["", "/gpu:2", "/gpu:*", "/gpu", "/job:worker", "/task:1", FULL])
def test_a_device_is_what_was_asked_for(spec: str) -> None:
    assert matches(spec, FULL)
    assert matches(DeviceSpec.from_string(spec), DeviceSpec.from_string(FULL))
    assert is_specification_of(spec, FULL)


@pytest.mark.parametrize("spec", ["/gpu:1", "/cpu:2", "/job:ps", "/task:0", "/replica:1/gpu:2"])
def test_a_device_is_not_what_was_asked_for(spec: str) -> None:
    assert not matches(spec, FULL)
    assert not is_specification_of(spec, FULL)


def test_matching_needs_a_full_name() -> None:
    with pytest.raises(ValueError, match="Not a full device name: '/device:GPU:0'"):
        matches("/gpu:0", "/gpu:0")
    assert is_full_name(FULL)
    assert not is_full_name("/job:worker/replica:0/task:1/device:GPU:*")


def test_partial_names_can_be_compared() -> None:
    assert is_specification_of("/job:a", "/job:a/gpu:0")
    assert not is_specification_of("/job:a/gpu:0", "/job:a")


SPECS = st.builds(
    DeviceSpec,
    job=st.none() | st.sampled_from(["a", "b"]),
    replica=st.none() | st.integers(0, 1),
    task=st.none() | st.integers(0, 1),
    device_type=st.none() | st.sampled_from(["CPU", "GPU"]),
    device_index=st.none() | st.integers(0, 1),
).map(lambda spec: DeviceSpec.from_string(spec.to_string()))


@given(SPECS, SPECS)
def test_laws(a: DeviceSpec, b: DeviceSpec) -> None:
    merged = merge_specs(a, b)
    assert canonical_name(merged) == merged
    assert merge_specs(merged, b) == merged
    assert is_specification_of(a, merged)
    assert is_specification_of(a, b) == (merged == b.to_string())
    assert is_specification_of(without_type_and_id(a), a)
    soft = combine_specs(without_type_and_id(a), a, allow_soft_placement=True)
    assert soft == a.to_string()
    try:
        both = combine_specs(a, b)
    except InvalidArgumentError:
        return
    assert both == combine_specs(b, a)
    assert is_specification_of(a, both)
    assert is_specification_of(b, both)

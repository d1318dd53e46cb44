"""Launches of one kernel become one, in an order that keeps dependent launches in sequence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.compile.steps.launch_joining import JoinableStep, independent_groups
from gpugraph.devices import Touches
from gpugraph.devices.cuda.emulation.cxx_compiler import HostModule, host_compiler

needs_cxx = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)

spans = st.tuples(st.integers(0, 12), st.integers(0, 3))
touched = st.builds(
    Touches, st.lists(spans, max_size=3).map(tuple), st.lists(spans, max_size=2).map(tuple)
)
commands = st.builds(
    JoinableStep,
    st.sampled_from(["a", "b", None]),
    st.sampled_from([True] * 9 + [False]).flatmap(lambda known: touched if known else st.none()),
)


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(sum(one), sum(other))


def depends(one: JoinableStep, other: JoinableStep) -> bool:
    """Return whether two commands must keep their order."""
    if one.touches is None or other.touches is None:
        return True
    pairs = [(a, b) for a in one.touches.writes for b in other.touches.reads]
    pairs += [(a, b) for a in one.touches.reads for b in other.touches.writes]
    pairs += [(a, b) for a in one.touches.writes for b in other.touches.writes]
    return any(overlap(a, b) for a, b in pairs)


@settings(max_examples=300)
@given(st.lists(commands, max_size=14))
def test_what_depends_keeps_its_order_and_is_never_joined(program: list[JoinableStep]) -> None:
    groups = independent_groups(program)
    assert sorted(index for group in groups for index in group) == list(range(len(program)))
    group_of = {index: number for number, group in enumerate(groups) for index in group}
    for index, command in enumerate(program):
        for before in range(index):
            if depends(program[before], command):
                assert group_of[before] < group_of[index]
            if group_of[before] == group_of[index]:
                assert command.kind is not None and command.kind == program[before].kind


@given(st.lists(st.sampled_from("ab"), max_size=20), st.booleans())
def test_what_is_independent_is_joined(kinds: list[str], reads: bool) -> None:
    shared = ((1000, 8),) if reads else ()
    commands = [
        JoinableStep(kind, Touches(shared, ((8 * index, 8),))) for index, kind in enumerate(kinds)
    ]
    assert len(independent_groups(commands)) == len(set(kinds))


# -- training steps

SIZES = [1, 0, 3, 5, 17, 64, 255, 1001, 4100, 33]
DTYPES = [tf.float32, tf.float32, tf.float16, tf.float64]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the kernels that GPUs have run."""
    functions: list[str] = []
    launch = HostModule.launch

    def noted(self: HostModule, function: str, *arguments: Any, **options: Any) -> None:
        functions.append(self.name)
        launch(self, function, *arguments, **options)

    monkeypatch.setattr(HostModule, "launch", noted)
    return functions


def variables(count: int) -> list[Any]:
    created = []
    for index in range(count):
        dtype = DTYPES[index % len(DTYPES)].as_numpy_dtype
        values = np.random.default_rng(index).uniform(-1, 1, SIZES[index // 4 % len(SIZES)])
        created.append(tf.Variable(values.astype(dtype), name=f"v{index}"))
    return created


def curves(make: Callable[[], Any], gpus: int = 1, count: int = 44) -> tuple[list[Any], list[str]]:
    """Return the variables after four steps, and the plan's report."""
    options = tf.GPUOptions(emulated_gpus=gpus)
    config = tf.ConfigProto(gpu_options=options, allow_soft_placement=True)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device("/gpu:0" if gpus else "/cpu:0"):
            trained = variables(count)
            slopes = [
                (tf.cast(0.25, variable.dtype) * variable + 1, variable) for variable in trained
            ]
            train = make().apply_gradients(slopes)
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(train)
        lines = str(session.explain(train)).splitlines()
        return session.run(trained), [line.strip() for line in lines]


@needs_cxx
@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.train.GradientDescentOptimizer(0.125),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        lambda: tf.train.AdamOptimizer(0.01),
        lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    ],
    ids=["descent", "momentum", "adam", "rmsprop"],
)
def test_updates_of_many_variables_are_a_few_launches(
    make: Callable[[], Any], launched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined, report = curves(make)
    few = len(launched)
    lines = [line for line in report if line.startswith("joined")]
    updates = [line for line in lines if "(Apply" in line]
    assert sum(int(line.split()[1]) for line in updates) == 36  # of 44, 4 empty, 2 and 2 numbers
    assert len(updates) <= 9 and all(line.endswith("into 1") for line in updates)
    monkeypatch.setenv("GPUGRAPH_JOIN", "0")
    alone, report = curves(make)
    many = len(launched) - few
    assert many - few > 4 * 25
    assert any(
        re.match("not joined .* launches .*, for GPUGRAPH_JOIN is 0", entry) for entry in report
    )
    host, _ = curves(make, gpus=0)
    for one, other, on_host in zip(joined, alone, host):
        assert one.dtype == other.dtype == on_host.dtype
        assert one.tobytes() == other.tobytes()
        error = {2: 4e-3, 4: 2e-6, 8: 1e-13}[one.dtype.itemsize]
        np.testing.assert_allclose(one, on_host, error, error)


@needs_cxx
@pytest.mark.parametrize("switch", ["GPUGRAPH_CAPTURE", "CUDA_LAUNCH_BLOCKING"])
def test_what_is_not_captured_computes_the_same_bits(
    switch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> Any:
        return tf.train.MomentumOptimizer(0.1, 0.9)

    captured, _ = curves(make, count=20)
    monkeypatch.setenv(switch, "0" if switch == "GPUGRAPH_CAPTURE" else "1")
    values, report = curves(make, count=20)
    assert [array.tobytes() for array in values] == [line.tobytes() for line in captured]
    blocking = switch == "CUDA_LAUNCH_BLOCKING"
    assert any(line.startswith("joined") for line in report) != blocking
    assert any("for CUDA_LAUNCH_BLOCKING is set" in line for line in report) == blocking


@pytest.fixture
def session() -> Iterator[Any]:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=1))
    with tf.Graph().as_default(), tf.Session(config=config) as open_session, tf.device("/gpu:0"):
        yield open_session


@needs_cxx
def test_updates_that_wait_for_each_other_stay_in_order(session: Any) -> None:
    x = tf.placeholder(tf.float32, [7])
    variables = [tf.Variable(tf.zeros([7]), name=f"v{index}") for index in range(4)]
    first = [tf.assign_add(variable, x) for variable in variables]
    with tf.control_dependencies(first):
        double = [tf.assign_add(variable, variable + 0.0) for variable in variables]
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(double, {x: np.arange(7)})
    for value in session.run(variables):
        np.testing.assert_array_equal(value, np.arange(7) * 14)
    report = str(session.explain(double, {x: np.arange(7)}))
    assert len(re.findall(r"joined 4 launches .*AssignAdd", report)) == 2


@needs_cxx
def test_each_gpu_joins_its_own() -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=2))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        fetches = []
        for index in range(8):
            with tf.device(f"/gpu:{index % 2}"):
                fetches.append(tf.Variable(np.full(index + 2, index, np.float32), name=f"v{index}"))
        train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(
            [(v * 1.5, v) for v in fetches]
        )
        session.run(tf.global_variables_initializer())
        lines = [line.strip() for line in str(session.explain(train)).splitlines()]
        updates = [line for line in lines if line.startswith("joined") and "(Apply" in line]
        assert [line.split()[1] for line in updates] == ["4", "4"]
        for _ in range(3):
            session.run(train)
        for index, value in enumerate(session.run(fetches)):
            np.testing.assert_array_equal(value, np.full(index + 2, index / 64, np.float32))


@needs_cxx
def test_updates_after_a_loop_and_a_branch_are_joined_too(session: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    variables = [tf.Variable(tf.ones([size]), name=f"v{size}") for size in (2, 3, 4)]
    count = tf.Variable(0.0, name="count")
    counted = tf.cond(x > 0, lambda: tf.assign_add(count, x), lambda: count.read_value())
    with tf.control_dependencies([counted]):
        rates = tf.while_loop(
            lambda i, _: i < 3, lambda i, r: (i + 1, r * x), (0, tf.constant(1.0))
        )
    slopes = [(rates[1] * variable, variable) for variable in variables]
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients(slopes)
    session.run(tf.global_variables_initializer())
    assert "ApplyGradientDescent) into 1" in str(session.explain(train, {x: 0.5}))
    for step in (0.5, -1.0, 0.5):
        session.run(train, {x: step})
    assert session.run(count) == 1
    for value in session.run(variables):
        np.testing.assert_array_equal(value, np.full(value.shape, 0.875 * 2 * 0.875, np.float32))


@needs_cxx
def test_traces_and_the_plan_name_the_steps_that_were_joined(session: Any) -> None:
    variables = [tf.Variable(tf.ones([size]), name=f"v{size}") for size in (2, 3, 4)]
    grown = tf.group(
        *[
            variable.assign_add(0.5 * variable, name=f"grow{index}")
            for index, variable in enumerate(variables)
        ]
    )
    session.run(tf.global_variables_initializer())
    trace = tf.RunMetadata()
    session.run(
        grown, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=trace
    )
    names = [s.node_name for stats in trace.step_stats.dev_stats for s in stats.node_stats]
    assert "grow0 .. grow2" in names
    modes = {placement.name: placement.mode for placement in session.explain(grown).placed}
    assert modes["grow0"] == modes["grow2"] == "kernel"


@needs_cxx
def test_a_launch_that_fails_names_the_ops(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = [tf.Variable(tf.ones([size], tf.int32)) for size in (2, 3, 4)]
    by = tf.placeholder(tf.int32, [])
    steps = [
        tf.assign_sub(variable, variable // by, name=f"down{index}")
        for index, variable in enumerate(variables)
    ]
    session.run(tf.global_variables_initializer())
    assert "joined 3 launches" in str(session.explain(steps, {by: 2}))
    session.run(steps, {by: 2})
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        session.run(steps, {by: 0})


def test_another_switch_is_an_error(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_JOIN", "no")
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPUGRAPH_JOIN is 'no'; possible"):
        session.run(tf.zeros([2]) + tf.placeholder_with_default([1.0, 2.0], [2]))

"""Bind: from a planned unit to the plan that a session runs."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    ResourceExhaustedError,
)
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.kernel import Call
from gpugraph.ops.framework import kernel_registry as kernels
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, raw_ops, register_op
from gpugraph.ops.framework.shape_functions import same_shape

from ..stages import execute, make_plan, make_target, run


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def kinds(plan):
    return [(step.kind, step.name) for step in plan.steps]


def in_use(target):
    return [device.allocator.get_stats().bytes_in_use for device in target.devices]


@pytest.fixture
def declare():
    """Declares an op `Probe` (x: T -> y: T) with this CPU kernel."""

    def make(cpu, **arguments):
        return register_op(
            "Probe",
            inputs="x: T",
            outputs="y: T",
            attrs={"T": [tf.float32]},
            infer=same_shape(0),
            cpu=cpu,
            gpu=HostOnly("for a test"),
            grad=NO_GRADIENT,
            doc="For a test.",
            **arguments,
        )

    yield make
    del DECLARATIONS["Probe"], OP_DEFS["Probe"]
    for kind in ("CPU", "GPU"):
        del kernels._KERNELS["Probe", kind]


# Steps


def test_only_what_computes_is_a_step():
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.reshape(tf.exp(x, name="y"), [6])
    with tf.control_dependencies([y]):
        done = tf.no_op(name="done")
    plan = make_plan([y, done, tf.shape(x)], {x: (2, 3)})
    assert kinds(plan) == [("kernel", "y")]
    (step,) = plan.steps
    assert (step.op_type, step.depth, step.output_bytes) == ("Exp", 1, 24)
    assert step.device.endswith("CPU:0")
    assert "test_binder.py" in str(step.origin)
    assert plan.reports[-1].summary == "1 kernels, 0 copies between devices, 0 guards of variables"


def test_a_way_of_fixed_size_is_one_copy():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/gpu:0"):
        a = tf.negative(x, name="a")
    with tf.device("/cpu:0"):
        y = tf.exp(a, name="y")
    plan = make_plan([y], {x: (2,)}, make_target(gpus=1))
    assert [kind for kind, _ in kinds(plan)] == ["kernel", "copy", "kernel"]
    assert not plan.has_cells


def test_a_kernel_is_bound_once_and_called_at_each_run(declare):
    bound, called = [], []

    def make(context, x, y):
        bound.append((context.name, context.input_shapes, context.output_shapes))
        return lambda: (called.append(1), np.negative(x, out=y))

    declare(Call(make=make))
    x = tf.placeholder(tf.float32, [2])
    plan = make_plan([raw_ops.Probe(x, name="p")], {x: (2,)})
    for index in range(3):
        assert execute(plan, [np.float32([index, 1])])[0].tolist() == [-index, -1]
    assert bound == [("p", [(2,)], [(2,)])]
    assert len(called) == 3


def test_scratch_belongs_to_the_plan(declare):
    def make(context, x, y):
        scratch = context.scratch((100,), tf.float32)
        return lambda: np.copyto(y, x + scratch.shape[0])

    declare(Call(make=make))
    target = make_target()
    x = tf.placeholder(tf.float32, [2])
    plan = make_plan([raw_ops.Probe(x)], {x: (2,)}, target)
    assert execute(plan, [np.float32([0, 1])])[0].tolist() == [100, 101]
    assert in_use(target)[0] >= 400
    plan.release()
    assert in_use(target) == [0]


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, AttributeError])
def test_a_kernel_that_refuses_what_it_is_bound_to_fails_in_the_run(declare, kind):
    def make(context, x, y):
        raise kind("no such luck")

    declare(Call(make=make))
    x = tf.placeholder(tf.float32, [2])
    plan = make_plan([raw_ops.Probe(x, name="p")], {x: (2,)})
    for _ in range(2):
        with pytest.raises(tf.OpError, match=r"no such luck\n.*node p .*test_binder") as caught:
            execute(plan, [np.float32([0, 1])])
        assert isinstance(caught.value, InvalidArgumentError) == (kind is ValueError)
    frames, cause = 0, caught.value.__cause__.__traceback__
    while cause is not None:
        frames, cause = frames + 1, cause.tb_next
    assert frames < 6  # the error doesn't grow from run to run


def test_a_kernels_state_is_the_sessions(declare):
    def make(context, x, y):
        seen = context.state(list)
        return lambda: (seen.append(1), np.copyto(y, len(seen)))

    declare(Call(make=make), stateful=True)
    x = tf.placeholder(tf.float32, [])
    y = raw_ops.Probe(x)
    target = make_target()
    assert [run([y], {x: 0.0}, target)[0] for _ in range(3)] == [1, 2, 3]


def test_a_kernel_that_fails_on_constants_fails_in_the_run(declare):
    def fail(x, y):
        raise RuntimeError("no such luck")

    declare(Call(fail))
    plan = make_plan([raw_ops.Probe(np.float32([1]), name="p")])
    with pytest.raises(tf.errors.UnknownError, match=r"no such luck\n.*node p .*test_binder"):
        execute(plan, [])


# Guards


def test_a_variable_is_guarded_once_a_plan_before_its_first_reader():
    v, w = tf.Variable([1.0], name="v"), tf.Variable([1.0], name="w")
    y = tf.add_n([v.value(), v.read_value() * 2.0, w.value()], name="y")
    plan = make_plan([y])
    guards = [name for kind, name in kinds(plan) if kind == "guard"]
    assert len(guards) == 2
    with pytest.raises(FailedPreconditionError, match=r"uninitialized value (v|w)"):
        execute(plan, [])
    assert not plan.warm


def test_warm_runs_skip_the_guards():
    v = tf.Variable([1.0], name="v")
    target = make_target()
    plan = make_plan([tf.negative(v.value())], target=target)
    with pytest.raises(FailedPreconditionError):
        execute(plan, [])
    run([v.initializer], target=target)
    assert execute(plan, [])[0].tolist() == [-1.0]
    assert plan.warm
    assert len(plan.unguarded.runs) == len(plan.guarded.runs) - 1
    assert execute(plan, [])[0].tolist() == [-1.0]


def test_a_fetched_reference_is_guarded_too():
    v = tf.Variable([1.0], name="v")
    with pytest.raises(FailedPreconditionError, match="uninitialized value v"):
        run([v._ref()])


def test_what_the_run_itself_initializes_may_be_read_afterwards():
    v = tf.Variable([1.0], name="v")
    with tf.control_dependencies([v.initializer]):
        y = tf.negative(v.read_value())
    assert run([y])[0].tolist() == [-1.0]


def test_a_variable_counts_as_initialized_only_when_its_assign_is_through(declare):
    def fail(x, y):
        raise RuntimeError("half way")

    declare(Call(fail))
    v = tf.Variable([1.0], name="v")
    target = make_target()
    with pytest.raises(tf.errors.UnknownError, match="half way"):
        run([tf.assign(v, raw_ops.Probe(tf.identity(v.initial_value)))], target=target)
    with pytest.raises(FailedPreconditionError):
        run([v.value()], target=target)


# Memory


def test_release_gives_all_memory_back_but_the_variables():
    with tf.device("/gpu:0"):
        v = tf.Variable(np.zeros(100, np.float32), name="v")
        x = tf.placeholder(tf.float32, [100], name="x")
        y = tf.add(v.value(), x)
    with tf.device("/cpu:0"):
        z = tf.exp(y)
    target = make_target(gpus=1)
    init = make_plan([v.initializer], target=target)
    execute(init, [])
    init.release()
    held = in_use(target)
    plan = make_plan([z], {x: (100,)}, target)
    execute(plan, [np.zeros(100, np.float32)])
    assert in_use(target) > held
    plan.release()
    plan.release()
    assert in_use(target) == held
    assert plan.stale


def test_a_plan_that_is_refused_half_way_leaves_nothing_behind():
    with tf.device("/gpu:0"):
        a = tf.placeholder(tf.float32, [1000], name="a")
        x = tf.exp(a, name="small")
    with tf.device("/gpu:1"):
        v = raw_ops.VariableV2(dtype=tf.float32, shape=[1 << 20], name="v")
        y = tf.negative(raw_ops.Identity(v))
    target = make_target(gpus=[1, 1])
    with pytest.raises(ResourceExhaustedError) as caught:
        make_plan([x, y], {a: (1000,)}, target)
    assert in_use(target) == [0, 0, 0]
    message = str(caught.value)
    assert "OOM when allocating" in message
    assert "GPU:1" in message


def test_too_large_an_arena_names_the_largest_tensors_the_limit_and_the_hole():
    x = tf.placeholder(tf.float32, [1 << 18], name="x")
    with tf.device("/gpu:0"):
        y = tf.exp(x, name="wanted")
        z = tf.add(y, tf.negative(x, name="also"), name="z")
    target = make_target(gpus=[1])
    with pytest.raises(ResourceExhaustedError) as caught:
        make_plan([y, z], {x: (1 << 18,)}, target)
    message = str(caught.value)
    assert "OOM when allocating tensor with shape[262144] and type float on " in message
    assert "1.00MiB  'wanted' float32[262144] (defined at " in message
    assert "None of its kernels has run." in message
    assert "limit 1048576 bytes" in message
    assert "largest hole" in message
    small = tf.placeholder(tf.float32, [4])
    with tf.device("/gpu:0"):
        fits = tf.exp(small)
    assert run([fits], {small: np.zeros(4)}, target)[0].tolist() == [1] * 4


# The ends


def test_fetches_are_copies_and_scalars_are_numpy_scalars():
    x = tf.placeholder(tf.float32, [3], name="x")
    y, total = tf.negative(x), tf.reduce_sum(x)
    plan = make_plan([y, y, total], {x: (3,)})
    one = execute(plan, [np.float32([1, 2, 3])])
    two = execute(plan, [np.float32([4, 5, 6])])
    assert one[0].tolist() == [-1, -2, -3]
    assert two[0].tolist() == [-4, -5, -6]
    assert type(one[2]) is np.float32
    assert one[2] == 6


def test_a_feed_slot_tells_what_it_takes():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    plan = make_plan([tf.negative(x)], {x: (2, 3)})
    (slot,) = plan.feeds
    assert (slot.name, slot.dtype, slot.shape) == ("x:0", tf.float32, (2, 3))


def test_a_kernel_registered_for_one_dtype_runs_for_that_dtype_alone():
    called = []

    def doubled(x, y):
        called.append(1)
        np.negative(x, out=y)

    kernels.register_kernel("Neg", "CPU", Call(doubled), types={"T": [tf.float64]}, priority=9)
    try:
        single, double = tf.placeholder(tf.float32, [1]), tf.placeholder(tf.float64, [1])
        run([tf.negative(single), tf.negative(double)], {single: [1.0], double: [1.0]})
    finally:
        kernels._KERNELS["Neg", "CPU"].pop(0)
    assert called == [1]


def test_an_unfed_default_has_its_own_shape():
    x = tf.placeholder_with_default([1, 2], [None])
    with tf.Session() as session:
        assert session.run(x + 1).tolist() == [2, 3]
        assert session.run(x + 1, {x: [5, 6, 7]}).tolist() == [6, 7, 8]


def test_the_rank_of_a_tensor_sized_at_run_time_is_made_on_the_host():
    start = tf.placeholder(tf.float32)
    variable = tf.Variable(start, validate_shape=False)
    total, shape = tf.reduce_sum(variable), tf.shape(variable)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Session(config=config) as session:
        session.run(variable.initializer, {start: np.ones((2, 3))})
        assert session.run(total) == 6
        assert session.run(shape).tolist() == [2, 3]


def test_errors_name_the_fetched_variable_and_the_folded_op_as_the_user_does():
    variable = tf.Variable(1.0, name="v")
    with tf.device("/gpu:7"):
        product = tf.multiply(tf.constant(2.0), 3.0, name="product")
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"\[\[node v "):
            session.run(variable)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[\[node product "):
            session.run(product)


@pytest.mark.parametrize("kind", [ResourceExhaustedError, KeyboardInterrupt])
def test_a_plan_whose_kernel_ends_the_binding_gives_all_memory_back(declare, kind):
    def make(context, x, y):
        context.scratch((100,), tf.float32)
        raise kind(None, None, "no room") if kind is ResourceExhaustedError else kind

    declare(Call(make=make))
    x = tf.placeholder(tf.float32, [1000])
    with tf.device("/gpu:0"):
        before = tf.exp(x)
    with tf.device("/cpu:0"):
        y = raw_ops.Probe(before)
    target = make_target(gpus=1)
    with pytest.raises(kind) as caught:
        make_plan([y], {x: (1000,)}, target)
    assert in_use(target) == [0, 0]
    del caught


def test_two_outputs_that_may_take_one_input_do_not_share_it():
    def both(x, y, z):
        np.copyto(z, x)
        np.negative(x, out=y)

    register_op(
        "Both",
        inputs="x: T",
        outputs="y: T, z: T",
        attrs={"T": [tf.float32]},
        infer=lambda context: [context.shapes[0]] * 2,
        alias={0: 0, 1: 0},
        cpu=Call(both),
        gpu=HostOnly("for a test"),
        grad=NO_GRADIENT,
        doc="For a test.",
    )
    try:
        x = tf.placeholder(tf.float32, [2])
        y, z = raw_ops.Both(tf.exp(x), name="both")
        for fetches, expected in (([y, z], [-1, 1]), ([y], [-1]), ([z], [1])):  # one may be unused
            plan = make_plan([tf.negative(fetch) for fetch in fetches], {x: (2,)})
            modes = {placed.name: placed.mode for placed in plan.placements}
            assert modes["both"].startswith("in place of ")
            got = execute(plan, [np.float32([0, 0])])
            assert [value.tolist() for value in got] == [[-value] * 2 for value in expected]
    finally:
        del DECLARATIONS["Both"], OP_DEFS["Both"]
        for kind in ("CPU", "GPU"):
            del kernels._KERNELS["Both", kind]

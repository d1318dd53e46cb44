"""Steps with tensors that are sized at run time, and the memory that they leave."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError, OpError
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import execute, make_plan, make_target, run


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def in_use(target):
    return [device.allocator.get_stats().bytes_in_use for device in target.devices]


def open_plan(fetches, feeds, target):
    """Return a plan that leaves the sizes of these feeds open."""
    return make_plan(fetches, {tensor: (None,) * rank for tensor, rank in feeds.items()}, target)


def test_one_plan_serves_all_sizes():
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(tf.reshape(tf.exp(x * 0.0) + x, [-1, 1]), 1)
    target = make_target()
    plan = open_plan([y, tf.shape(y)], {x: 1}, target)
    held = in_use(target)
    for size in (3, 0, 50, 1):
        got, sizes = execute(plan, [np.arange(size, dtype=np.float32)])
        assert got.tolist() == [i + 1 for i in range(size)]
        assert sizes.tolist() == [size]
        assert in_use(target) == held


def test_a_cell_is_freed_by_its_last_reader():
    x = tf.placeholder(tf.float32, [None])
    y = x
    for _ in range(50):
        y = tf.tanh(tf.reshape(y, [-1]))
    target = make_target()
    plan = open_plan([tf.reduce_sum(y)], {x: 1}, target)
    execute(plan, [np.zeros(100_000, np.float32)])
    peak = target.devices[0].allocator.get_stats().peak_bytes_in_use
    assert peak < 5 * 400_000  # of 100 tensors at most a few at once


@pytest.mark.parametrize("open_size", [False, True])
def test_sizes_that_depend_on_values(open_size):
    x = tf.placeholder(tf.float32, [None])
    kept = tf.boolean_mask(x, x > 0.0)
    fetches = [kept, tf.where(x > 0.0), tf.size(kept), tf.reduce_sum(kept)]
    target = make_target()
    plan = make_plan(fetches, {x: (None if open_size else 4,)}, target)
    held = in_use(target)
    for inputs in ([1, -1, 2, -2], [-1, -1, -1, -1], [1, 2, 3, 4]):
        values = np.float32(inputs)
        got = execute(plan, [values])
        assert got[0].tolist() == [value for value in inputs if value > 0]
        assert got[1].tolist() == [[index] for index, value in enumerate(inputs) if value > 0]
        assert (got[2], got[3]) == ((values > 0).sum(), values[values > 0].sum())
        assert in_use(target) == held
    plan.release()
    assert in_use(target) == [0]


@pytest.mark.parametrize("read_only_once", [True, False])
def test_a_tensor_sized_at_run_time_goes_to_another_device(read_only_once):
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        a = tf.negative(x, name="a")
    with tf.device("/gpu:1"):
        b = tf.exp(a, name="b")
        c = b if read_only_once else tf.add(b, a)
    with tf.device("/cpu:0"):
        y = tf.add(c, 1.0)
    target = make_target(gpus=2)
    plan = open_plan([y], {x: 1}, target)
    assert {"send", "copy"} <= {step.kind for step in plan.steps}
    held = in_use(target)
    for size in (5, 2, 9):
        array = np.arange(size, dtype=np.float32)
        expected = np.exp(-array) + 1 + (0 if read_only_once else -array)
        np.testing.assert_allclose(execute(plan, [array])[0], expected, rtol=1e-6)
        assert in_use(target) == held


def test_a_cell_that_was_sent_is_freed_when_it_has_arrived():
    x = y = tf.placeholder(tf.float32, [None])
    for _ in range(20):
        for device in ("/gpu:0", "/cpu:0"):
            with tf.device(device):
                y = tf.tanh(y)
    target = make_target(gpus=1)
    plan = open_plan([y], {x: 1}, target)
    execute(plan, [np.zeros(100_000, np.float32)])
    for device in target.devices:
        assert device.allocator.get_stats().peak_bytes_in_use < 5 * 400_000


def test_a_way_shows_in_the_rendezvous_under_its_key():
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        a = tf.negative(x, name="a")
    with tf.device("/cpu:0"):
        y = tf.exp(a)
    sent = []

    class Watching:
        def __init__(self):
            self.kept = {}

        def send(self, key, value, is_dead=False):
            sent.append(key)
            self.kept[key] = value

        def recv(self, key):
            return self.kept.pop(key), False

        def clear(self):
            self.kept.clear()

    base = make_target(gpus=1)
    target = type(base)(
        base.devices, base.resources, base.config, base.no_gpu, base.verify, Watching
    )
    plan = open_plan([y], {x: 1}, target)
    execute(plan, [np.zeros(3, np.float32)])
    gpu = base.devices[1]
    assert sent[-1] == (
        f"{gpu.name};{gpu.attributes.incarnation:016x};{base.devices[0].name};edge_{len(sent) - 1}"
        "_a;0:0"
    )


def test_after_a_failure_in_mid_step_nothing_is_held_and_the_plan_runs_again():
    x, w = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        a = tf.exp(x)
    with tf.device("/cpu:0"):
        y = tf.reshape(tf.negative(a), [2, -1], name="y")
        z = tf.add(tf.reshape(y, [-1]), w)
    target = make_target(gpus=1)
    plan = open_plan([z], {x: 1, w: 1}, target)
    held = in_use(target)
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="node y"):
            execute(plan, [np.zeros(3, np.float32), np.zeros(3, np.float32)])
        assert in_use(target) == held
        got = execute(plan, [np.zeros(4, np.float32), np.ones(4, np.float32)])
        assert got[0].tolist() == [0.0] * 4
        assert in_use(target) == held


def test_memory_that_runs_out_in_mid_step_names_the_tensor_and_comes_back():
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        y = tf.exp(tf.negative(x, name="first"), name="second")
    target = make_target(gpus=[1])
    plan = open_plan([y], {x: 1}, target)
    held = in_use(target)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"shape\[200000\].*for '"):
        execute(plan, [np.zeros(200_000, np.float32)])
    assert in_use(target) == held
    assert execute(plan, [np.zeros(2, np.float32)])[0].tolist() == [1.0, 1.0]


def test_shapes_that_do_not_fit_are_found_in_the_run():
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    z = tf.add(x, y, name="z")
    plan = open_plan([z], {x: 1, y: 1}, make_target())
    with pytest.raises(OpError, match="node z") as caught:
        execute(plan, [np.zeros(2, np.float32), np.zeros(3, np.float32)])
    assert isinstance(caught.value, InvalidArgumentError)


# Variables of open shape


def resizable(value, device=""):
    with tf.device(device):
        return tf.Variable(value, validate_shape=False, name="v")


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_a_variable_of_open_shape_takes_any(device):
    x = tf.placeholder(tf.float32, None)
    with tf.device(device):
        v = tf.Variable(x, validate_shape=False, name="v")
        grown = tf.assign(v, tf.concat([v.value(), v.value()], 0), validate_shape=False)
    target = make_target(gpus=1)
    init = make_plan([v.initializer], {x: None}, target)
    read = make_plan([v.value(), tf.shape(v.value())], target=target)
    for array in ([1.0, 2.0], [[3.0], [4.0]], [5.0]):
        execute(init, [np.float32(array)])
        value, sizes = execute(read, [])
        assert value.tolist() == array
        assert sizes.tolist() == list(np.shape(array))
    assert run([grown], target=target)[0].tolist() == [5.0, 5.0]
    assert execute(read, [])[0].tolist() == [5.0, 5.0]


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_before_its_first_value_it_is_uninitialized(device):
    x = tf.placeholder(tf.float32, None)
    with tf.device(device):
        v = tf.Variable(x, validate_shape=False, name="v")
        known = tf.is_variable_initialized(v)
    target = make_target(gpus=1)
    assert run([known], target=target) == [False]
    with pytest.raises(FailedPreconditionError, match="uninitialized value v"):
        run([v.value()], target=target)
    run([v.initializer], {x: [1.0]}, target)
    assert run([known], target=target) == [True]


def test_a_read_is_what_was_read_though_the_variable_is_resized_afterwards():
    x = tf.placeholder(tf.float32, None)
    with tf.device("/gpu:0"):
        v = tf.Variable(x, validate_shape=False, name="v")
        read = v.read_value()
        with tf.control_dependencies([read]):
            resized = tf.assign(v, np.float32([7, 8, 9]), validate_shape=False)
        with tf.control_dependencies([resized]), tf.device("/cpu:0"):
            late = tf.negative(read)
            new = v.read_value()
    target = make_target(gpus=1)
    run([v.initializer], {x: [1.0, 2.0]}, target)
    got = run([late, new, read], target=target)
    assert [array.tolist() for array in got] == [[-1, -2], [7, 8, 9], [1, 2]]


def test_a_reference_that_is_sent_is_read_when_it_arrives_wherever_the_value_is_by_then():
    x = tf.placeholder(tf.float32, None)
    with tf.device("/cpu:0"):
        v = tf.Variable(x, validate_shape=False, name="v")
    with tf.device("/gpu:0"):
        read = v.read_value()
    target = make_target(gpus=1)
    run([v.initializer], {x: [8.0, 9.0]}, target)
    sizes = tf.placeholder(tf.int32, [1])
    with tf.device("/cpu:0"):
        resized = tf.assign(v, tf.fill(sizes, 1.0), validate_shape=False, name="resized")
    plan = make_plan([read, resized.op], {sizes: (1,)}, target)
    kinds = [step.kind for step in plan.steps]
    written = [step.name for step in plan.steps].index("resized")
    assert kinds.index("send") < written < kinds.index("copy")
    assert execute(plan, [np.int32([3])])[0].tolist() == [1.0, 1.0, 1.0]


def test_one_resized_again_and_again_holds_only_its_last_value():
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable(x, validate_shape=False, name="v")
    target = make_target()
    plan = open_plan([v.initializer], {x: 1}, target)
    execute(plan, [np.zeros(1000, np.float32)])
    held = in_use(target)
    for size in (10, 5000, 1000):
        execute(plan, [np.zeros(size, np.float32)])
    assert in_use(target) == held


def test_plans_that_hold_the_old_memory_of_a_variable_become_stale():
    v = tf.Variable([1.0, 2.0], name="v")
    target = make_target()
    run([v.initializer], target=target)
    plan = make_plan([v.value()], target=target)
    for state in plan.watched:
        state.watchers[id(plan)] = plan
    run([tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)], target=target)
    assert plan.stale
    plan.release()
    assert run([v._ref()], target=target)[0].tolist() == [1, 2, 3]


# Strings


def test_strings_come_and_go():
    s = tf.placeholder(tf.string, [None])
    target = make_target()
    plan = open_plan([tf.identity(tf.reshape(s, [-1, 1]))], {s: 1}, target)
    got = execute(plan, [np.array([b"a", b"bc"], object)])[0]
    assert got.tolist() == [[b"a"], [b"bc"]]


def test_a_static_output_of_an_op_with_a_host_input_known_only_to_the_run():
    x, order = tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.int32, [2])
    y = raw_ops.Transpose(x, order)
    plan = make_plan([y], {x: (2, 2), order: (2,)})
    array = np.float32([[1, 2], [3, 4]])
    assert execute(plan, [array, np.int32([1, 0])])[0].tolist() == [[1, 3], [2, 4]]
    assert execute(plan, [array, np.int32([0, 1])])[0].tolist() == [[1, 2], [3, 4]]

"""Memory planning: values that may share bytes, and values that must not."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.kernel import Call, reference
from gpugraph.memory import Lifetime, lower_bound
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from gpugraph.ops.framework.op_evaluation import ArrayContext

from ..stages import compiled, make_plan, make_target, node, run


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def planned(fetches, feeds=None, target=None):
    return compiled(fetches, feeds, target=target)


def home(unit, name, slot=0):
    return unit.homes[node(unit, name).id, slot]


def mode(unit, name):
    return unit.modes.get(node(unit, name).id, "own")


def share(unit, *names):
    return len({id(home(unit, name).storage) for name in names}) == 1


def fed(shape=(4,), name="x"):
    return tf.placeholder(tf.float32, shape, name=name)


# In place


def test_a_chain_runs_in_place_of_what_was_fed():
    x = fed()
    y = tf.exp(tf.negative(x, name="a"), name="y")
    unit = planned([y], {x: (4,)})
    assert share(unit, "_arg_x", "a", "y")
    assert mode(unit, "y") == "in place of x:0"
    assert list(unit.arena_sizes.values()) == [64]


def test_an_input_that_is_needed_later_is_not_overwritten():
    x = fed()
    a = tf.negative(x, name="a")
    y = tf.exp(a, name="y")
    z = tf.add(y, a, name="z")
    unit = planned([z], {x: (4,)})
    assert not share(unit, "a", "y")
    assert share(unit, "y", "z")
    assert run([z], {x: [0, 0, 0, 0]})[0].tolist() == [1.0] * 4


def test_a_fetched_tensor_is_never_overwritten():
    x = fed()
    a = tf.negative(x, name="a")
    view = tf.reshape(a, [2, 2], name="view")
    fetches = [tf.exp(a, name="y"), tf.exp(view, name="w"), view]
    unit = planned(fetches, {x: (4,)})
    assert share(unit, "a", "view")
    assert not share(unit, "a", "y")
    assert not share(unit, "a", "w")
    assert home(unit, "a").storage.last == len(unit.order)
    assert run(fetches, {x: [0, 1, 0, 0]})[2].tolist() == [[0, -1], [0, 0]]


def test_a_tensor_that_a_later_view_is_of_is_not_overwritten():
    x = fed()
    a = tf.negative(x, name="a")
    view = tf.reshape(tf.identity(a), [2, 2], name="view")
    y = tf.exp(a, name="y")
    z = tf.add(tf.reshape(tf.exp(tf.exp(y)), [2, 2]), view, name="z")
    unit = planned([z], {x: (4,)})
    assert not share(unit, "a", "y")
    assert home(unit, "a").storage.last == unit.order.index(node(unit, "z"))


def test_a_tensor_under_way_to_another_device_is_not_overwritten():
    x = fed()
    with tf.device("/gpu:0"):
        a = tf.negative(x, name="a")
        y = tf.exp(a, name="y")
    with tf.device("/cpu:0"):
        z = tf.exp(a, name="z")
    target = make_target(gpus=1)
    unit = planned([y, z], {x: (4,)}, target)
    ((_, recv),) = [ends for ends in unit.send_recv_pairs if ends[0].name.startswith("a/")]
    assert home(unit, "a").storage.last == unit.order.index(recv)
    assert not share(unit, "a", "y")
    assert run([y, z], {x: [0, 0, 0, 0]}, target)[1].tolist() == [1.0] * 4


def test_the_other_input_of_a_like_pair_serves_too():
    x, w = fed((1,)), fed((4,), "w")
    unit = planned([tf.add(x, w, name="y")], {x: (1,), w: (4,)})
    assert share(unit, "_arg_w", "y")


def test_a_kernel_of_several_passes_gets_only_what_it_declared():
    x, dy = fed(), fed(name="dy")
    y = raw_ops.EluGrad(tf.sqrt(x, name="root"), dy, name="y")
    unit = planned([y, tf.identity(tf.rsqrt(x) * 2.0)], {x: (4,), dy: (4,)})
    assert DECLARATIONS["EluGrad"].memory.alias == {0: 0}
    assert share(unit, "root", "y")
    y = raw_ops.EluGrad(x, dy, name="kept")
    unit = planned([y, x], {x: (4,), dy: (4,)})
    assert not share(unit, "_arg_dy", "kept")


def test_another_shape_or_element_size_gets_memory_of_its_own():
    x, i = fed(), tf.placeholder(tf.int32, [4], name="i")
    wide = tf.cast(i, tf.float64, name="wide")
    same = tf.cast(x, tf.int32, name="same")
    unit = planned([wide, same], {x: (4,), i: (4,)})
    assert not share(unit, "_arg_i", "wide")
    assert share(unit, "_arg_x", "same")
    assert run([same], {x: [1.5, -2.5, 3, 4]})[0].tolist() == [1, -2, 3, 4]


def test_a_variable_and_a_constant_are_never_overwritten():
    v = tf.Variable([1.0, 2.0], name="v")
    target = make_target()
    run([v.initializer], target=target)
    big = np.zeros(5000, np.float32)
    y, z = tf.negative(v.value(), name="y"), tf.exp(tf.constant(big, name="c"), name="z")
    x = fed((5000,))
    unit = planned([y, tf.add(z, x)], {x: (5000,)}, target)
    assert home(unit, "y").storage.kind == "arena"
    assert home(unit, "z").storage.kind in ("arena", "constant")
    run([y], target=target)
    assert run([v.value()], target=target)[0].tolist() == [1.0, 2.0]


def test_an_output_nobody_takes_has_room_for_its_one_step():
    x = fed((4,))
    left, _ = tf.split(x, 2, name="parts")
    unit = planned([left], {x: (4,)})
    unused = home(unit, "parts", 1).storage
    assert unused.first == unused.last == unit.order.index(node(unit, "parts"))


def test_a_feed_lives_from_the_first_step_and_an_unread_one_hurts_nobody():
    x, w = fed(), fed(name="w")
    deep = tf.exp(tf.exp(tf.exp(x)))
    y = tf.add(deep, w)
    fetches = [y]
    idle = fed(name="idle")
    unit = planned(fetches, {x: (4,), w: (4,), idle: (4,)})
    assert all(home(unit, f"_arg_{name}").storage.first == 0 for name in ("x", "w", "idle"))
    value = {x: [0] * 4, w: [1, 2, 3, 4], idle: [9] * 4}
    expected = np.exp(np.exp(np.exp(np.float32(0)))) + np.arange(1, 5)
    np.testing.assert_allclose(run(fetches, value)[0], expected, rtol=1e-6)


# Views


def test_a_view_shares_bytes_and_needs_no_step():
    x = fed((2, 3))
    a = tf.exp(x, name="a")
    flat = tf.reshape(tf.identity(a), [6], name="flat")
    y = tf.expand_dims(flat, 0, name="y")
    unit = planned([y, flat], {x: (2, 3)})
    assert share(unit, "a", "flat", "y")
    assert home(unit, "y").shape == (1, 6)
    plan = make_plan([y, flat], {x: (2, 3)})
    assert [step.name for step in plan.steps] == ["a"]
    plan.release()


def test_a_view_of_what_was_fed_is_fetched_as_it_was_fed():
    x = fed((2, 3))
    y = tf.reshape(x, [3, 2])
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert run([y], {x: value})[0].tolist() == value.reshape(3, 2).tolist()
    assert value.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_view_of_a_constant_is_the_constant():
    big = np.arange(5000, dtype=np.float32)
    y = tf.reshape(tf.constant(big, name="c"), [50, 100], name="y")
    unit = planned([y])
    assert home(unit, "y").storage.kind == "constant"
    got = run([y])[0]
    got[...] = 0  # fetched arrays are the caller's
    assert run([y])[0][0, 1] == 1.0


# Reads of variables


def read_modes(order_after_write):
    """How a read is done whose last use comes before, or after, a write."""
    v = tf.Variable([1.0, 2.0], name="v")
    read = v.read_value()
    use = tf.negative(read, name="use")
    with tf.control_dependencies([read if order_after_write else use]):
        written = tf.assign_add(v, [10.0, 10.0], name="written")
    if order_after_write:
        with tf.control_dependencies([written]):
            use = tf.add(tf.exp(use * 0.0), read, name="late")
    return v, read, use, written


@pytest.mark.parametrize("late", [False, True])
def test_a_read_is_a_copy_only_if_a_write_falls_before_its_last_use(late):
    v, read, use, written = read_modes(late)
    target = make_target()
    run([v.initializer], target=target)
    unit = planned([use, written.op], target=target)
    how = mode(unit, read.op.name)
    assert how == ("copy: the variable is written before the last use" if late else "view of v")
    assert run([use, written.op], target=target)[0].tolist() == ([2, 3] if late else [-1, -2])
    assert run([v.value()], target=target)[0].tolist() == [11, 12]


def test_a_fetched_read_is_what_was_read_and_a_fetched_reference_what_is_there_at_the_end():
    v = tf.Variable([1.0, 2.0], name="v")
    read = v.read_value()
    with tf.control_dependencies([read]):
        written = tf.assign(v, [5.0, 6.0])
    target = make_target()
    run([v.initializer], target=target)
    got = run([read, v._ref(), written], target=target)
    assert [item.tolist() for item in got] == [[1, 2], [5, 6], [5, 6]]


@pytest.mark.parametrize(
    "turned",
    [
        lambda value: tf.reshape(value, [2, 2]),
        lambda value: tf.transpose(value),
        lambda value: tf.reverse(value, [0]),
        lambda value: tf.transpose(tf.reshape(tf.identity(value), [2, 2])),
    ],
)
def test_a_variable_can_be_assigned_what_is_made_of_itself(turned):
    start = np.float32([[1, 2], [3, 4]])
    v = tf.Variable(start, name="v")
    target = make_target()
    run([v.initializer], target=target)
    value = turned(v.value())
    expected = run([turned(tf.constant(start))])[0]
    assert run([tf.assign(v, value)], target=target)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("late", [set(), {0}, {2}, {1, 3}, {0, 1, 2, 3}])
def test_of_many_writes_only_one_between_a_read_and_its_last_use_makes_it_a_copy(late):
    v = tf.Variable([1.0], name="v")
    done, uses = tf.no_op(), []
    for index in range(4):
        with tf.control_dependencies([done]):
            read = v.read_value()
        use = tf.negative(read)
        with tf.control_dependencies([read if index in late else use]):
            done = tf.assign_add(v, [1.0], name=f"write_{index}").op
        if index in late:
            with tf.control_dependencies([done]):
                use = tf.negative(tf.identity(read), name=f"late_{index}")
        uses.append((read, use))
        done = tf.group(done, use)
    target = make_target()
    run([v.initializer], target=target)
    fetches = [use for _, use in uses]
    unit = planned([*fetches, done], target=target)
    copied = {
        index for index, (read, _) in enumerate(uses) if mode(unit, read.op.name)[:4] == "copy"
    }
    assert copied == late
    assert run([*fetches, done], target=target) == [[-1], [-2], [-3], [-4]]


def test_a_write_that_is_itself_the_last_use_of_a_read_makes_it_a_copy():
    v = tf.Variable([1.0], name="v")
    read = v.read_value()
    unit = planned([tf.assign_add(v, read)])
    assert mode(unit, read.op.name).startswith("copy")


def test_a_variable_can_be_added_to_itself_by_reference():
    v = tf.Variable([1.0, 2.0], name="v")
    target = make_target()
    run([v.initializer], target=target)
    assert run([raw_ops.AssignAdd(v._ref(), v._ref())], target=target)[0].tolist() == [2, 4]
    view = raw_ops.Reshape(v._ref(), np.int32([2]))
    assert run([raw_ops.AssignSub(v._ref(), view)], target=target)[0].tolist() == [0, 0]


def test_a_write_through_another_name_of_the_variable_counts():
    one = raw_ops.VariableV2(dtype=tf.float32, shape=[2], shared_name="both", name="one")
    two = raw_ops.VariableV2(dtype=tf.float32, shape=[2], shared_name="both", name="two")
    target = make_target()
    run([raw_ops.Assign(one, np.float32([1, 2]))], target=target)
    read = raw_ops.Identity(one, name="read")
    with tf.control_dependencies([read]):
        written = raw_ops.Assign(two, np.float32([8, 9]), name="written")
    with tf.control_dependencies([written]):
        use = tf.add(read, tf.exp(tf.zeros([2])), name="use")
    unit = planned([use], target=target)
    assert mode(unit, "read").startswith("copy")
    assert run([use], target=target)[0].tolist() == [2, 3]


def test_a_read_that_is_sent_is_read_before_a_later_write():
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
        read = v.read_value()
        with tf.control_dependencies([read]):
            written = tf.assign(v, [5.0, 6.0])
    with tf.device("/cpu:0"):
        use = tf.negative(read, name="use")
    target = make_target(gpus=1)
    run([v.initializer], target=target)
    assert run([use, written.op], target=target)[0].tolist() == [-1, -2]


# Cells


def test_sizes_known_only_at_run_time_are_cells_and_strings_have_a_fixed_place():
    x = fed((None,))
    s = tf.placeholder(tf.string, [2], name="s")
    y = tf.negative(x, name="y")
    t = tf.identity(s, name="t")
    unit = planned([y, t], {x: (None,), s: (2,)})
    assert {home(unit, name).storage.kind for name in ("_arg_x", "y")} == {"cell"}
    assert {home(unit, name).storage.kind for name in ("_arg_s", "t")} == {"object"}
    assert home(unit, "t").storage is home(unit, "_arg_s").storage
    assert unit.reports[-1].summary == "1 tensors share memory, 2 are sized at run time"


def test_handles_have_a_fixed_place_so_that_what_they_hold_is_kept_by_static_steps():
    x = tf.placeholder(tf.float32, [3])
    y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.tanh(y)), [0, x])[1]
    array = tf.TensorArray(tf.float32, 2).write(0, x)
    unit = planned([tf.gradients(y, x)[0], array.read(0)], {x: (3,)})
    kinds = {
        node.type: unit.homes[node.id, 0].storage.kind
        for node in unit.order
        if node.type.startswith(("Stack", "TensorArray"))
    }
    assert kinds["StackV2"] == kinds["TensorArrayV3"] == "object"
    assert kinds["StackPopV2"] == kinds["TensorArrayReadV3"] == "arena"


def test_a_cell_dies_with_its_last_reader_though_a_copy_of_it_lives_on():
    x = fed((None,))
    a = tf.negative(x, name="a")
    flat = tf.reshape(a, [-1], name="flat")
    y = tf.add(tf.exp(tf.exp(flat)), flat, name="y")
    unit = planned([y], {x: (None,)})
    assert home(unit, "a").storage.last == unit.order.index(node(unit, "flat"))


# Arenas


def test_each_device_has_an_arena_no_larger_than_it_must_be():
    x = fed((1000,))
    with tf.device("/gpu:0"):
        a = tf.exp(tf.negative(x, name="a"), name="b")
    with tf.device("/gpu:1"):
        y = tf.add(tf.matmul(tf.reshape(a, [1, 1000]), tf.reshape(a, [1000, 1])), 1.0, name="y")
    unit = planned([y], {x: (1000,)}, make_target(gpus=2))
    for device, size in unit.arena_sizes.items():
        storages = {
            id(home.storage): home.storage
            for home in unit.homes.values()
            if home.storage.kind == "arena" and home.storage.device == device
        }
        lifetimes = [
            Lifetime(-(-home.size // 64) * 64, home.first, home.last) for home in storages.values()
        ]
        assert size == lower_bound(lifetimes)
    assert any(line.startswith("arena on") for line in unit.reports[-1].lines)


def test_empty_tensors_take_no_room():
    x = fed((0, 3))
    unit = planned([tf.exp(x)], {x: (0, 3)})
    assert list(unit.arena_sizes.values()) == [0]
    assert run([tf.exp(x)], {x: np.zeros((0, 3))})[0].shape == (0, 3)


# Kernels must support the sharing that the declarations allow


def may_overwrite(decl, kernel):
    """Slots whose memory the planner may give to output 0."""
    if isinstance(kernel.function, np.ufunc):
        return range(len(decl.op_def.inputs))
    return [decl.memory.alias[0]]


ALIASED = sorted(
    name
    for name, decl in DECLARATIONS.items()
    if 0 in decl.memory.alias
    and not any(arg.type is tf.resource for arg in decl.op_def.inputs)
    # whose inputs are of different shapes
    and not name.startswith(("TensorScatter", "ScatterNdNonAliasing"))
)


@pytest.mark.parametrize("name", ALIASED)
def test_a_kernel_gives_the_same_in_place_as_elsewhere(name):
    """For each op declared with `alias`, on each input that the planner may overwrite."""
    decl = DECLARATIONS[name]
    attrs = {key: item.default for key, item in decl.op_def.attrs.items() if item.has_default}
    dtype = tf.float32
    for key, item in decl.op_def.attrs.items():
        if item.kind == "type":
            attrs[key] = dtype if not item.allowed or dtype in item.allowed else item.allowed[0]
    for arg in decl.op_def.inputs:
        if arg.number_attr:
            attrs[arg.number_attr] = 3
    kernel = reference(find_kernel(name, "CPU", attrs).kernel)
    assert isinstance(kernel, Call)
    values = random_inputs(decl, attrs)
    fresh = result(kernel, decl, attrs, [item.copy() for item in values], None)
    for slot in may_overwrite(decl, kernel):
        if values[slot].shape == fresh.shape and values[slot].itemsize == fresh.itemsize:
            inputs = [item.copy() for item in values]
            out = inputs[slot].view(fresh.dtype)
            again = result(kernel, decl, attrs, inputs, out)
            np.testing.assert_array_equal(again, fresh, f"{name} over input {slot}")


def random_inputs(decl, attrs):
    random = np.random.default_rng(5)
    values = []
    for arg in decl.op_def.inputs:
        dtype = arg.type or attrs[arg.type_attr]
        shape = {"bias": (3,), "i": (4,)}.get(arg.name, (4, 3))  # i: rows, all of them the first
        for _ in range(attrs.get(arg.number_attr, 1)):
            result = random.uniform(0.2, 0.9, shape)
            if dtype is tf.bool:
                result = result > 0.5
            values.append(result.astype(dtype.as_numpy_dtype))
    return values


def result(kernel, decl, attrs, inputs, out):
    from_attr = decl.op_def.outputs[0]
    dtype = from_attr.type or attrs[from_attr.type_attr]
    shape = max((tensor.shape for tensor in inputs), key=len)
    if out is None:
        out = np.empty(shape, dtype.as_numpy_dtype)
    context = ArrayContext(decl.op_def.name, attrs, inputs, [shape], [dtype])
    with np.errstate(all="ignore"):
        kernel.bind(context, [*inputs, out])()
    return out

"""Remap: a convolution with its bias and activation is one op, where nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.compile import PASSES
from gpugraph.config import RewriterConfig
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import compiled, make_target, node, types

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

ON, OFF = RewriterConfig.ON, RewriterConfig.OFF
JIT, NO_JIT = tf.OptimizerOptions.ON_1, tf.OptimizerOptions.OFF
L0 = tf.OptimizerOptions.L0


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    with tf.Graph().as_default() as graph:
        yield graph


def config(jit=JIT, options=None, gpus=0, **rewrites):
    options = tf.OptimizerOptions(global_jit_level=jit, **(options or {}))
    graph_options = tf.GraphOptions(optimizer_options=options, rewrite_options=rewrites)
    return tf.ConfigProto(graph_options=graph_options, gpu_options=tf.GPUOptions(virtual_gpus=gpus))


def after(fetches, feeds, gpus=0, **how):
    target = make_target(gpus=gpus)._replace(config=config(**how))
    return compiled(fetches, feeds, upto="convolution_remapper", target=target)


SHAPE = (2, 6, 5, 3)


def convolved(dtype=tf.float32, shape=SHAPE, outputs=4, **attrs):
    """Return a placeholder of images and their convolution."""
    x = tf.placeholder(dtype, shape, name="x")
    w = tf.constant(np.linspace(-1, 1, 2 * 2 * 3 * outputs).reshape(2, 2, 3, outputs), dtype)
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME", "name": "conv", **attrs}
    return x, tf.nn.conv2d(x, w, **attrs)


def vector(dtype=tf.float32, size=4):
    return tf.constant(np.linspace(-1, 2, size), dtype, name="bias")


def fused_ops(unit, name):
    return node(unit, name).attrs["fused_ops"]


ADDITIONS = {
    "BiasAdd": lambda y, b: tf.nn.bias_add(y, b, name="sum"),
    "Add": lambda y, b: raw_ops.Add(y, b, name="sum"),
    "AddV2": lambda y, b: raw_ops.AddV2(y, b, name="sum"),
    "AddV2 the other way": lambda y, b: raw_ops.AddV2(b, y, name="sum"),
}
ACTIVATIONS = {"Relu": tf.nn.relu, "Relu6": tf.nn.relu6}


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
@pytest.mark.parametrize("addition", ADDITIONS)
def test_a_bias_becomes_part_of_a_convolution(addition, dtype):
    x, y = convolved(dtype)
    unit = after([ADDITIONS[addition](y, vector(dtype))], {x: SHAPE})
    assert "_FusedConv2D" in types(unit)
    assert not {"Conv2D", "BiasAdd", "Add", "AddV2"} & set(types(unit))
    assert fused_ops(unit, "sum") == ["BiasAdd"]
    assert unit.absorbed["conv"][2:] == ("sum", "part of")


@pytest.mark.parametrize("addition", ADDITIONS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_does_so_too(activation, addition):
    x, y = convolved()
    z = ACTIVATIONS[activation](ADDITIONS[addition](y, vector()), name="z")
    unit = after([z], {x: SHAPE})
    assert types(unit) == ["Const", "Const", "_FusedConv2D"]
    assert fused_ops(unit, "z") == ["BiasAdd", activation]
    assert unit.reports[-1].lines == [f"z: Conv2D with BiasAdd, {activation}: conv, sum, z"]
    assert unit.reports[-1].summary == "1 convolutions with fused ops"


def test_another_activation_stays():
    x, y = convolved()
    unit = after([tf.tanh(tf.nn.bias_add(y, vector(), name="sum"))], {x: SHAPE})
    assert types(unit) == ["Const", "Const", "Tanh", "_FusedConv2D"]
    assert fused_ops(unit, "sum") == ["BiasAdd"]


def test_a_convolution_with_its_relu_but_no_bias_stays():
    x, y = convolved()
    assert "Conv2D" in types(after([tf.nn.relu(y)], {x: SHAPE}))


def test_it_keeps_device_reason_origin_and_name():
    x, y = convolved()
    z = tf.nn.relu(tf.nn.bias_add(y, vector()), name="z")
    unit = after([z], {x: SHAPE})
    fused = node(unit, "z")
    assert fused.assigned_device.endswith("CPU:0")
    assert unit.reasons[fused.id] == "the session has only CPU devices"
    before = compiled([z], {x: SHAPE}, upto="placer")
    assert fused.origin is node(before, "z").origin


def test_what_was_waited_for_is_waited_for():
    x, kernel, bias = tf.placeholder(tf.float32, SHAPE), tf.ones([1, 1, 3, 4]), vector()
    v, zero = tf.Variable(1.0), tf.constant(0.0)
    wait = [tf.assign(v, 2.0 + number, name=f"w{number}") for number in range(3)]
    with tf.control_dependencies(wait[:1]):
        y = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    with tf.control_dependencies(wait[1:2]):
        y = tf.nn.bias_add(y, bias)
    with tf.control_dependencies(wait[2:]):
        z = tf.nn.relu(y, name="z")
    with tf.control_dependencies([z]):
        last = tf.assign(v, zero, name="last")
    unit = after([z, last.op], {x: SHAPE})
    assert node(unit, "z").type == "_FusedConv2D"
    waits = {number.name for number in node(unit, "z").control_inputs}
    assert waits == {"w0", "w1", "w2"}
    assert "z" in {number.name for number in node(unit, "last").control_inputs}


def normalized(y, outputs, training=False, form="NHWC"):
    vectors = [np.linspace(low, 2, outputs) for low in (0.5, -1, -0.5, 0.1)]
    moments = {} if training else {"mean": vectors[2], "variance": vectors[3]}
    moments = {name: tf.constant(value, tf.float32) for name, value in moments.items()}
    scale, offset = (tf.constant(value, tf.float32) for value in vectors[:2])
    return tf.nn.fused_batch_norm(
        y, scale, offset, **moments, is_training=training, data_format=form
    )[0]


AFTER = {"Relu": tf.nn.relu, "Relu6": tf.nn.relu6, "": None}


@pytest.mark.parametrize("outputs", [1, 5, 16, 40])
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("activation", AFTER)
def test_a_normalization_of_inference_and_an_addition_become_part(outputs, form, adds, activation):
    random = np.random.RandomState(0)
    sizes, strides = (3, 7, 5, 8), [1, 1, 2, 1]
    order = (0, 1, 2, 3) if form == "NHWC" else (0, 3, 1, 2)
    sizes, strides = [sizes[axis] for axis in order], [strides[axis] for axis in order]
    x = tf.placeholder(tf.float32, sizes)
    kernel = tf.constant(random.randn(3, 3, 8, outputs), tf.float32)
    y = tf.nn.conv2d(tf.tanh(x), kernel, strides, "SAME", data_format=form)
    z, fused = normalized(y, outputs, form=form), ["FusedBatchNorm"]
    if adds:
        z, fused = z + tf.constant(random.randn(*z.shape.as_list()), tf.float32), [*fused, "Add"]
    if activation:
        z, fused = AFTER[activation](z), [*fused, activation]
    feeds = {x: random.randn(*sizes)}
    unit = after([z], {x: tuple(sizes)})
    assert (
        next(n for n in unit.graph.op_nodes() if n.type == "_FusedConv2D").attrs["fused_ops"]
        == fused
    )
    together, plain = run({}, [z], feeds), run({"jit": NO_JIT}, [z], feeds)
    np.testing.assert_allclose(together[0], plain[0], rtol=1e-4, atol=1e-4)


def test_a_bias_and_an_addition_of_images_have_the_same_bits():
    x, y = convolved()
    z = tf.nn.relu(tf.nn.bias_add(y, vector()) + tf.constant(1.25, shape=(2, 6, 5, 4)))
    feeds = {x: np.random.RandomState(0).randn(*SHAPE)}
    assert "_FusedConv2D" in types(after([z], {x: SHAPE}))
    same_bits([z], feeds)


def test_two_branches_that_are_added_are_both_fused():
    x, y = convolved()
    z = tf.nn.relu(
        normalized(y, 4) + normalized(tf.nn.conv2d(x, tf.ones([1, 1, 3, 4]), 1, "SAME"), 4)
    )
    unit = after([z], {x: SHAPE})
    assert types(unit).count("_FusedConv2D") == 2
    assert not {"Conv2D", "Relu", "AddV2"} & set(types(unit))
    feeds = {x: np.random.RandomState(0).randn(*SHAPE)}
    together, plain = run({}, [z], feeds), run({"jit": NO_JIT}, [z], feeds)
    np.testing.assert_allclose(together[0], plain[0], rtol=1e-4, atol=1e-4)


def test_a_normalization_stays_in_training_and_if_others_read_its_input():
    x, y = convolved()
    assert unchanged([normalized(y, 4, training=True)], {x: SHAPE})
    assert unchanged([normalized(y, 4), y], {x: SHAPE})


def test_a_sum_of_other_shapes_is_added_apart():
    x, y = convolved()
    unit = after([normalized(y, 4) + tf.ones([6, 5, 4])], {x: SHAPE})
    assert "AddV2" in types(unit) and "_FusedConv2D" in types(unit)


# Values with other consumers stay


def unchanged(fetches, feeds, **how):
    op_types = types(after(fetches, feeds, **how))
    return "Conv2D" in op_types and "_FusedConv2D" not in op_types


def test_a_convolution_that_others_take_stays():
    x, y = convolved()
    z = tf.nn.bias_add(y, vector())
    assert unchanged([z, y], {x: SHAPE})  # fetched
    assert unchanged([z, y.op], {x: SHAPE})  # run as a target
    assert unchanged([z, tf.tanh(y)], {x: SHAPE})  # taken
    with tf.control_dependencies([y]):
        waiting = tf.assign(tf.Variable(0.0), 1.0)
    assert unchanged([z, waiting.op], {x: SHAPE})  # waited for
    assert not unchanged([z], {x: SHAPE})


def test_a_sum_that_others_take_keeps_its_relu_apart():
    x, y = convolved()
    s = tf.nn.bias_add(y, vector(), name="sum")
    z = tf.nn.relu(s)
    for others in ([s], [s.op], [tf.tanh(s)]):
        unit = after([z, *others], {x: SHAPE})
        assert fused_ops(unit, "sum") == ["BiasAdd"]
        assert "Relu" in types(unit)


def test_what_is_fed_is_taken():
    _, y = convolved()
    s = tf.nn.bias_add(y, vector(), name="sum")
    z = tf.nn.relu(s)
    assert types(after([z], {s: (2, 6, 5, 4)})) == ["Relu"]
    assert "_FusedConv2D" not in types(after([z], {y: (2, 6, 5, 4)}))


def test_ops_that_are_colocated_with_the_convolution_find_it():
    x, y = convolved()
    z = tf.nn.relu(tf.nn.bias_add(y, vector()))
    with tf.colocate_with(y.op):
        other = tf.tanh(x)
    with tf.Session(config=config()) as session:
        feeds = {x: np.ones(SHAPE)}
        session.run([z, other], feeds)
        assert "part of Relu" in str(session.explain([z, other], feeds))


BIASES = {
    "a matrix": lambda: tf.ones([1, 4]),
    "a scalar": lambda: tf.constant(1.0),
    "one for all": lambda: tf.ones([1]),
    "images": lambda: tf.ones([2, 6, 5, 4]),
}


@pytest.mark.parametrize("bias", BIASES)
def test_what_is_no_bias_is_added_apart(bias):
    x, y = convolved()
    assert unchanged([y + BIASES[bias]()], {x: SHAPE})


def test_a_convolution_that_is_added_to_itself():
    x, y = convolved(shape=(1, 1, 1, 3))
    assert unchanged([y + y], {x: (1, 1, 1, 3)})


def test_channels_may_come_first():
    x = tf.placeholder(tf.float32, [2, 3, 6, 5])
    y = tf.nn.conv2d(x, tf.ones([2, 2, 3, 4]), [1, 1, 1, 1], "SAME", data_format="NCHW")
    z = tf.nn.relu(tf.nn.bias_add(y, vector(), data_format="NCHW"))
    assert not unchanged([z], {x: (2, 3, 6, 5)})
    image = np.random.RandomState(0).randn(2, 3, 6, 5)
    sums = image.sum(1)
    sums = np.pad(sums, ((0, 0), (0, 1), (0, 1)))
    windows = sums[:, :-1, :-1] + sums[:, 1:, :-1] + sums[:, :-1, 1:] + sums[:, 1:, 1:]
    expected = np.maximum(windows[:, None] + np.linspace(-1, 2, 4)[:, None, None], 0)
    for native in ("wait", "0"):
        with tf.Session(config=config()) as session, pytest.MonkeyPatch.context() as patch:
            patch.setenv("GPUGRAPH_NATIVE", native)
            np.testing.assert_allclose(session.run(z, {x: image}), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_results_that_each_op_rounds_stay(dtype):
    x, y = convolved(dtype)
    z = tf.nn.bias_add(y, vector(dtype))
    assert unchanged([z], {x: SHAPE})
    with tf.Session(config=config()) as session:
        assert session.run(z, {x: np.ones(SHAPE)}).shape == (2, 6, 5, 4)


def test_a_bias_by_another_axis_stays():
    x, y = convolved(outputs=6)  # as many outputs as rows
    z = tf.nn.bias_add(y, vector(size=6), data_format="NCHW")
    assert unchanged([z], {x: SHAPE})


def test_open_and_empty_shapes_stay():
    x, y = convolved(shape=(None, 6, 5, 3))
    z = tf.nn.bias_add(y, vector())
    assert unchanged([z], {x: (None, 6, 5, 3)})
    assert unchanged([z], {x: (0, 6, 5, 3)})
    assert not unchanged([z], {x: SHAPE})


def test_a_variable_itself_is_read_when_it_was():
    x, y = convolved()
    v = tf.Variable(tf.zeros([4]))
    assert unchanged([raw_ops.BiasAdd(y, v._ref())], {x: SHAPE})
    assert not unchanged([raw_ops.BiasAdd(y, v)], {x: SHAPE})


def test_on_a_virtual_gpu_nothing_changes():
    x, y = convolved()
    z = tf.nn.relu(tf.nn.bias_add(y, vector()))
    assert unchanged([z], {x: SHAPE}, gpus=1)
    x, y = convolved()
    with tf.device("/gpu:0"):
        z = tf.nn.bias_add(y, vector())
    with tf.device("/cpu:0"):
        other = tf.placeholder(tf.float32, SHAPE)
        on_host = tf.nn.conv2d(other, tf.ones([1, 1, 3, 4]), [1, 1, 1, 1], "SAME", name="on_host")
    with tf.device("/gpu:0"):
        across = tf.nn.bias_add(on_host, vector())
    assert unchanged([across], {other: SHAPE}, gpus=1)


# Switches


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"remapping": OFF}, "switched off: remapping is OFF"),
        ({"remapping": "OFF"}, "switched off: remapping is OFF"),
        ({"disable_meta_optimizer": True}, "switched off: disable_meta_optimizer"),
        ({"options": {"opt_level": L0}}, "switched off: opt_level is L0"),
        ({"jit": NO_JIT}, "global_jit_level is OFF"),
        ({"jit": NO_JIT, "remapping": ON}, "global_jit_level is OFF"),
    ],
)
def test_it_can_be_switched_off(how, why):
    x, y = convolved()
    unit = after([tf.nn.bias_add(y, vector())], {x: SHAPE}, **how)
    assert unit.reports[-1].summary == why
    assert "Conv2D" in types(unit)


def test_it_can_be_asked_for():
    x, y = convolved()
    unit = after([tf.nn.bias_add(y, vector())], {x: SHAPE}, options={"opt_level": L0}, remapping=ON)
    assert "_FusedConv2D" in types(unit)


def test_it_needs_native_code(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    x, y = convolved()
    unit = after([tf.nn.bias_add(y, vector())], {x: SHAPE})
    assert unit.reports[-1].summary == "GPUGRAPH_NATIVE is 0"
    assert "Conv2D" in types(unit)


def test_it_knows_of_devices_and_comes_before_fusing():
    names = [item.__module__.rpartition(".")[2] for item in PASSES]
    assert (
        names.index("placer") < names.index("convolution_remapper") < names.index("fusion_groups")
    )


# Answers


def run(how, fetches, feeds, times=3):
    """The answers of the last of some runs: native code is compared in the first."""
    with tf.Session(config=config(**how)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(times):
            result = session.run(fetches, feeds)
    return result


def same_bits(fetches, feeds):
    """Native apart and together; by NumPy the last bits may differ."""
    together, apart = run({}, fetches, feeds), run({"remapping": OFF}, fetches, feeds)
    plain = run({"jit": NO_JIT}, fetches, feeds)
    for one, other, third in zip(together, apart, plain):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
        np.testing.assert_allclose(one, third, rtol=1e-4, atol=1e-4)


def network(draw, dtype, channels, outputs):
    n, h, w, kh, kw = (draw(st.integers(1, 7)) for _ in range(5))
    random = np.random.RandomState(draw(st.integers(0, 99)))
    x = tf.placeholder(dtype, [n, h, w, channels])
    kernel = tf.constant(random.randn(kh, kw, channels, outputs), dtype)
    stride = draw(st.integers(1, 2))
    # With a step before, all is native: a single small one is left to NumPy.
    y = tf.nn.conv2d(tf.tanh(x), kernel, [1, stride, stride, 1], "SAME")
    values = random.randn(outputs) * 3
    values[random.rand(outputs) < 0.1] = draw(st.sampled_from([np.nan, np.inf, -np.inf, -0.0]))
    y = ADDITIONS[draw(st.sampled_from(sorted(ADDITIONS)))](y, tf.constant(values, dtype))
    after = draw(st.sampled_from([None, tf.nn.relu, tf.nn.relu6]))
    images = random.randn(n, h, w, channels)
    images[random.rand(*images.shape) < draw(st.sampled_from([0, 0.02]))] = np.nan
    return y if after is None else after(y), {x: images}


@settings(max_examples=40)
@given(st.data())
def test_any_shape_gives_the_same_bits(data):
    dtype = data.draw(st.sampled_from([tf.float32, tf.float64]))
    channels = data.draw(st.sampled_from([1, 2, 3, 8, 16]))
    outputs = data.draw(st.sampled_from([1, 2, 3, 4, 5, 8, 16, 17, 32, 37, 64, 80]))
    with tf.Graph().as_default():
        y, feeds = network(data.draw, dtype, channels, outputs)
        assert "_FusedConv2D" in types(after([y], {x: v.shape for x, v in feeds.items()}))
        same_bits([y], feeds)


@pytest.mark.parametrize("outputs", [2, 24, 64])
def test_sums_that_are_added_up_in_pieces_get_their_bias_once(outputs):
    """More rows of the filter than are taken at a time, and more segments."""
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [1, 10, 9, 160])
    w = tf.constant(random.randn(9, 8, 160, outputs), tf.float32)
    y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
    z = tf.nn.relu(tf.nn.bias_add(y, vector(size=outputs) * 1000))
    same_bits([z * 1e-3], {x: random.randn(1, 10, 9, 160)})


def test_training_goes_the_same_way():
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [8, 10, 10, 3])
    w, b = tf.Variable(random.randn(3, 3, 3, 6).astype("f") * 0.3), tf.Variable(tf.zeros([6]))
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), b), name="y")
    loss = tf.reduce_mean(tf.square(tf.reduce_mean(y, [1, 2, 3]) - np.float32(0.7)))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: random.randn(8, 10, 10, 3)}
    with tf.Session(config=config()) as session:
        session.run(tf.global_variables_initializer())
        report = str(session.explain([train, loss], feeds))
    assert "part of y" in report
    assert "_FusedConv2D" in report
    mapping = [run(how, [train, loss, w], feeds, 20)[1:] for how in ({}, {"remapping": OFF})]
    assert mapping[0][0] == mapping[1][0]
    assert mapping[0][1].tobytes() == mapping[1][1].tobytes()
    plain = run({"jit": NO_JIT}, [train, loss, w], feeds, 20)[1:]
    np.testing.assert_allclose(mapping[0][1], plain[1], rtol=1e-3, atol=1e-5)


def test_in_branches_and_loops():
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [1, 4, 4, 4], name="x")
    w, b = tf.constant(np.eye(4).reshape(1, 1, 4, 4), tf.float32), vector() * 0.5

    def layer(y):
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(y, w, [1, 1, 1, 1], "SAME"), b))

    looped = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, layer(y)), [0, x])[1]
    z = tf.cond(p, lambda: layer(x), lambda: layer(looped) * 2.0)
    gradient = tf.gradients(tf.reduce_sum(z), [x])[0]
    shape = (1, 4, 4, 4)
    assert types(after([z], {p: (), x: shape})).count("_FusedConv2D") == 3
    for is_taken in (True, False):
        feeds = {p: is_taken, x: np.linspace(-2, 2, 64).reshape(shape)}
        same_bits([z, looped, gradient], feeds)


def test_an_op_of_other_fused_ops_is_refused():
    x, y = convolved()
    for wrong in (["Relu"], [], ["BiasAdd", "Elu"], ["BiasAdd", "Relu", "Relu6"]):
        with pytest.raises(ValueError, match="fused_ops must be BiasAdd"):
            raw_ops._FusedConv2D(
                x, y.op.inputs[1], [vector()], num_args=1, fused_ops=wrong,
                strides=[1, 1, 1, 1], padding="SAME", name="z",
            )  # fmt: skip

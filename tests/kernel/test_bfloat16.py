"""bfloat16: the dtype, its numbers, and programs that compute with it."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

BF16 = ml_dtypes.bfloat16
ROOT = Path(__file__).resolve().parents[2]
X = np.array([[0.5, -1.25, 3], [2, 0.1, -0.7]], BF16)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feeds=None, config=None):
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def rounded(values):
    """Round to bfloat16 and back, for results that are computed in float32."""
    return np.asarray(values, np.float32).astype(BF16).astype(np.float32)


# -- the dtype


def test_dtype():
    kind = tf.bfloat16
    assert (kind.name, kind.size, kind.as_datatype_enum) == ("bfloat16", 2, 14)
    assert kind.is_floating and not kind.is_integer and kind.is_numpy_compatible
    assert kind.as_numpy_dtype is BF16
    assert float(kind.max) == float.fromhex("0x1.FEp127") == -float(kind.min)
    assert kind.base_dtype is kind and tf.as_dtype("bfloat16_ref").base_dtype is kind
    assert tf.as_dtype("bfloat16_ref").as_datatype_enum == 114
    for value in ("bfloat16", 14, BF16, np.dtype(BF16), BF16(1), np.zeros(2, BF16)):
        assert tf.as_dtype(value) is kind
    assert kind == BF16 and kind != tf.float16 and np.float16 != kind
    assert pickle.loads(pickle.dumps(kind)) is copy.deepcopy(kind) is kind


WITHOUT = """
    import sys
    sys.modules["ml_dtypes"] = None  # as if it was not installed
    import gpugraph as tf
    kind = tf.as_dtype("bfloat16")
    assert kind is tf.bfloat16 and kind.is_floating and kind.size == 2
    assert tf.as_dtype("bfloat16_ref").base_dtype is kind
    assert tf.float16 != kind and str(kind) == "<dtype: 'bfloat16'>"
    x = tf.constant([1.5])
    tries = {
        "as_numpy_dtype": lambda: kind.as_numpy_dtype,
        "max": lambda: kind.max,
        "constant": lambda: tf.constant(1.0, tf.bfloat16),
        "placeholder": lambda: tf.placeholder(tf.bfloat16),
        "cast": lambda: tf.cast(x, tf.bfloat16),
        "variable": lambda: tf.get_variable("v", [2], tf.bfloat16),
        "resource": lambda: tf.get_variable("r", [2], tf.bfloat16, use_resource=True),
        "random": lambda: tf.random_uniform([2], dtype=tf.bfloat16),
        "zeros": lambda: tf.zeros([2], tf.bfloat16),
    }
    for name, what in tries.items():
        try:
            what()
        except ModuleNotFoundError as error:
            assert error.name == "ml_dtypes"
            assert "pip install 'gpugraph[bfloat16]'" in str(error), name
        else:
            raise AssertionError(name)
    print(tf.Session().run(x + 1), "done")
"""


def test_without_its_package_the_dtype_is_there_and_arrays_are_refused():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "[2.5] done" in done.stdout


def test_ops_that_have_no_kernel_of_it_say_what_they_take():
    with pytest.raises(TypeError, match="DataType bfloat16 not in list"):
        tf.linalg.qr(tf.constant(X))
    with pytest.raises(TypeError, match="DataType bfloat16 not in list"):
        tf.random.gamma([2], tf.constant([1.0], tf.bfloat16), dtype=tf.bfloat16)


# -- numbers


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_cast_rounds_to_the_nearest_even(values):
    wide = np.array(values, np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        narrow = session.run(tf.cast(wide, tf.bfloat16))
    bits = wide.view(np.uint32).astype(np.uint64)
    expected = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    number = ~np.isnan(wide)
    assert narrow.view(np.uint16)[number].tolist() == expected[number].tolist()
    assert np.isnan(narrow.astype(np.float32)).tolist() == (~number).tolist()


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_casts_to_and_from_other_types(dtype):
    inputs = np.array([0, 1, 3, 100], dtype)
    narrow = tf.cast(inputs, tf.bfloat16)
    there, back = run([narrow, tf.cast(narrow, dtype)])
    assert there.dtype == BF16 and there.tolist() == inputs.astype(np.float32).tolist()
    assert back.dtype == inputs.dtype and back.tolist() == inputs.tolist()


def test_truncating_cast_leaves_bits_out():
    values = np.array([1 + 3 * 2**-8, -1 - 3 * 2**-8, 3.4e38, np.nan, -np.inf], np.float32)
    result = run(tf.raw_ops.Cast(values, DstT=tf.bfloat16, Truncate=True)).astype(np.float32)
    expected = [1 + 2**-7, -1 - 2**-7, float(tf.bfloat16.max), np.nan, -np.inf]
    np.testing.assert_array_equal(result, np.float32(expected))


def test_complex_numbers_and_their_real_part():
    narrow = tf.constant(X)
    assert run(tf.cast(narrow, tf.complex64)).tolist() == X.astype(np.complex64).tolist()
    assert run(tf.cast(np.complex64([1 + 2j]), tf.bfloat16)).tolist() == [1]


def test_saturating_cast():
    wide = tf.saturate_cast(np.array([1e39, -1e300, 300.7]), tf.bfloat16)
    narrow = tf.saturate_cast(tf.constant([1000.0, -5, 3.75], tf.bfloat16), tf.uint8)
    result = run([wide, narrow])
    assert result[0].tolist() == [float(tf.bfloat16.max), float(tf.bfloat16.min), 300]
    assert result[1].tolist() == [255, 0, 3]
    assert run(tf.to_bfloat16([1.5])).dtype == BF16


def test_sums_and_products_are_added_up_in_float32():
    ones = tf.ones([5000], tf.bfloat16)
    result = run([tf.reduce_sum(ones), tf.reduce_mean(ones), tf.tensordot(ones, ones, 1)])
    assert [float(value) for value in result] == [float(BF16(5000)), 1, float(BF16(5000))]
    assert all(np.asarray(array).dtype == BF16 for array in result)


def test_division_rounds_the_quotient_before_it_rounds_down():
    x, y = tf.constant(3.0, tf.bfloat16), tf.constant(0.3, tf.bfloat16)
    assert float(run(x // y)) == 10  # TensorFlow's; of the very numbers it would be 9


# fmt: off
STREAMS = {  # TensorFlow's: two runs of graph seed 7, op seed 3, then of the stateless seed [3, -4]
    "uniform": (
        [0.6953125, 0.515625, 0.8125, 0.125, 0.609375],
        [0.8203125, 0.7421875, 0.046875, 0.2890625, 0.921875],
        [0.5625, 0.3046875, 0.390625, 0.234375, 0.265625],
    ),
    "normal": (
        [0.9453125, -0.96484375, 0.8046875, 1.3046875, 0.21484375],
        [1.1484375, 0.447265625, 0.12353515625, 0.71875, -0.5078125],
        [-1.78125, -0.30859375, -0.310546875, -0.3828125, 0.353515625],
    ),
    "truncated_normal": (
        [0.9453125, -0.96484375, 0.8046875, 1.3046875, -0.21875],
        [1.1484375, 0.447265625, 0.12353515625, 0.71875, -0.59375],
        [-1.78125, -0.30859375, -0.310546875, -0.3828125, -0.62890625],
    ),
}
# fmt: on


@pytest.mark.parametrize("law", STREAMS)
def test_random_numbers_are_tensorflows(law):
    tf.set_random_seed(7)
    drawn = getattr(tf.random, law)([5], dtype=tf.bfloat16, seed=3)
    stateless = getattr(tf.random, f"stateless_{law}")([5], [3, -4], dtype=tf.bfloat16)
    with tf.Session() as session:
        result = [session.run(drawn).tolist() for _ in range(2)] + [session.run(stateless).tolist()]
    assert result == [list(stream) for stream in STREAMS[law]]


def test_numbers_as_text():
    x = tf.constant([1 / 3, 1e10, np.nan, 100000, -0.0], tf.bfloat16)
    texts, shown = run([tf.as_string(x, precision=3), tf.strings.format("{}", x, summarize=5)])
    assert texts.tolist() == [b"0.334", b"9999220736.000", b"nan", b"99840.000", b"-0.000"]
    assert shown == b"[0.333984375 9.99922074e+09 nan 99840 -0]"


def test_bytes_as_numbers():
    stored = X.astype(np.float32).view(np.uint32) >> 16
    for order, little in ((">u2", False), ("<u2", True)):
        text = stored.astype(order).tobytes()
        result = run(tf.decode_raw([text], tf.bfloat16, little_endian=little))
        assert result.dtype == BF16 and result.tolist() == [X.reshape(-1).tolist()]
    assert run(tf.bitcast(X, tf.uint16)).tolist() == stored.tolist()


def test_extremes_of_nothing_are_those_of_the_dtype():
    ids = np.array([0, 2])
    result = run([tf.unsorted_segment_max(X, ids, 3), tf.unsorted_segment_min(X, ids, 3)])
    assert [array[1].tolist() for array in result] == [
        [float(tf.bfloat16.min)] * 3,
        [float(tf.bfloat16.max)] * 3,
    ]


def test_range():
    result = tf.range(*(tf.constant(number, tf.bfloat16) for number in (0.1, 2.0, 0.3)))
    assert result.dtype is tf.bfloat16 and run(result).shape == (7,)


# -- variables, branches and loops


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables(use_resource):
    v = tf.get_variable("v", initializer=tf.constant(X), use_resource=use_resource)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.assign_add(X)).tolist() == (X + X).tolist()
        session.run(v.assign_sub(X))
        session.run(tf.scatter_add(v, [1], X[:1]))
        wanted = rounded(X.astype(np.float32) + [[0] * 3, X[0].tolist()])
        result = session.run(v)
    assert result.dtype == BF16 and result.tolist() == wanted.tolist()


def test_fed_and_of_open_shape():
    x = tf.placeholder(tf.bfloat16, [None, 3])
    kept = tf.boolean_mask(tf.nn.softmax(x), [True, False])
    result = run(kept, {x: X.astype(np.float64)})  # a feed takes the placeholder's dtype
    powers = np.exp(X[0].astype(np.float32))
    np.testing.assert_allclose(result.astype(np.float32), [powers / powers.sum()], 2**-8)


def test_branches_loops_and_elements():
    x = tf.constant(X)
    looped = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]
    chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x)
    rows = tf.map_fn(lambda row: row + 1, x)
    result = run([looped, tf.gradients(looped, x)[0], chosen, rows])
    wide = X.astype(np.float32)
    wanted = [wide**4, 4 * wide**3, wide * 2, wide + 1]
    for one, other in zip(result, wanted):
        assert one.dtype == BF16
        np.testing.assert_allclose(one.astype(np.float32), other, 2**-6)


# -- compilation


def test_casts_that_lose_something_stay():
    half = tf.placeholder(tf.float16, [2])
    wide = tf.placeholder(tf.float32, [2])
    narrow = tf.placeholder(tf.bfloat16, [2])
    result = [
        tf.cast(tf.cast(half, tf.bfloat16), tf.float16),
        tf.cast(tf.cast(wide, tf.bfloat16), tf.float32),
        tf.cast(tf.cast(narrow, tf.float16), tf.bfloat16),
        tf.cast(tf.cast(narrow, tf.float32), tf.bfloat16),
    ]
    values = np.array([1 + 2**-10, 1e-7])
    found = run(result, {half: values, wide: values, narrow: [1e30, 3]})
    assert found[0][0] == found[1][0] == 1
    assert np.isinf(found[2][0].astype(np.float32))
    assert found[3].tolist() == [float(BF16(1e30)), 3]


def test_what_reads_a_constant_leaves_it_alone():
    checked = tf.check_numerics(tf.constant(X), "checked")
    assert run(checked).tolist() == X.tolist()


def test_large_tensors_go_by_tiles_to_the_same_bits():
    x = tf.placeholder(tf.bfloat16, [600, 500])
    values = np.random.default_rng(0).normal(0, 2, (600, 500)).astype(BF16)
    result = run(tf.tanh(x * 1.5 + 0.25), {x: values}).astype(np.float32)
    moved = rounded(rounded(values.astype(np.float32) * 1.5) + np.float32(0.25))
    np.testing.assert_array_equal(result, rounded(np.tanh(moved)))


def training():
    """Mixed precision: variables in float32, the rest in bfloat16, the loss scaled."""
    images, labels = tf.placeholder(tf.float32, [64, 16]), tf.placeholder(tf.float32, [64, 4])
    weights = tf.get_variable("weights", [16, 4], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [4], initializer=tf.zeros_initializer())
    narrow = [tf.cast(value, tf.bfloat16) for value in (images, weights, bias, labels)]
    logits = tf.nn.bias_add(tf.matmul(narrow[0], narrow[1]), narrow[2])
    logits = tf.concat([logits[:, :2], logits[:, 2:]], 1)
    losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels=narrow[3], logits=logits)
    loss = tf.reduce_mean(losses)
    assert loss.dtype is tf.bfloat16
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    pairs = optimizer.compute_gradients(tf.cast(loss, tf.float32) * 128.0)
    assert all(gradient.dtype is tf.float32 for gradient, _ in pairs)
    train = optimizer.apply_gradients([(grad / 128.0, variable) for grad, variable in pairs])
    x = np.random.default_rng(1).normal(0, 1, (64, 16)).astype(np.float32)
    y = np.eye(4, dtype=np.float32)[np.argmax(x[:, :4], 1)]
    return [loss, train, weights], {images: x, labels: y}


@pytest.mark.parametrize("native", ["0", "wait"])
def test_mixed_precision_learns(monkeypatch, native):
    monkeypatch.setenv("GPUGRAPH_NATIVE", native)
    fetches, feeds = training()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [float(session.run(fetches, feeds)[0]) for _ in range(40)]
    assert losses[0] == float(BF16(np.log(4))) and losses[-1] < 0.3


def test_explain_shows_native_steps_of_bfloat16(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    fetches, feeds = training()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds)
        report = str(session.explain(fetches, feeds))
    assert re.search(r"steps: +(\d+) on CPU:0\n.*\nnative: +\1 in nati", report), report


def test_virtual_gpu_gives_the_same():
    x = tf.constant(X)
    with tf.device("/gpu:0"):
        result = tf.matmul(tf.nn.relu(x), x, transpose_b=True)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    wide = X.astype(np.float32)
    wanted = rounded(np.maximum(wide, 0) @ wide.T)
    np.testing.assert_array_equal(run(result, config=config).astype(np.float32), wanted)


def test_clipping_and_adding_up():
    x = tf.constant(X)
    clipped, normed, total = run(
        [tf.clip_by_value(x, -0.5, 1.0), tf.clip_by_global_norm([x], 1.0)[0], tf.add_n([x] * 3)]
    )
    wide = X.astype(np.float32)
    np.testing.assert_array_equal(clipped.astype(np.float32), np.clip(wide, -0.5, 1))
    np.testing.assert_allclose(normed[0].astype(np.float32), wide / np.sqrt((wide**2).sum()), 0.02)
    np.testing.assert_array_equal(total.astype(np.float32), rounded(3 * wide))


def test_op_of_ones_own_that_knows_nothing_of_it(monkeypatch):
    """Its kernel gets float32."""
    met = []

    def cube(x, out):
        met.append((x.dtype, out.dtype))
        np.power(x, 3, out=out)

    name = "CubeOfAnyFloat"
    made = tf.register_op(
        name,
        inputs="x: T",
        outputs="y: T",
        attrs={"T": tf.dtypes.FLOATING},
        infer=lambda context: [context.shapes[0]],
        cpu=tf.Call(cube),
        gpu=tf.Call(cube),
        grad=lambda op, dy: dy * 3 * op.inputs[0] ** 2,
        doc="x^3",
    )
    x = tf.placeholder(tf.bfloat16, [2, 3])
    y = made(x)
    result, slope = run([y, tf.gradients(y, x)[0]], {x: X})
    wide = X.astype(np.float32)
    assert set(met) == {(np.dtype(np.float32), np.dtype(np.float32))}
    np.testing.assert_array_equal(result.astype(np.float32), rounded(wide**3))
    np.testing.assert_allclose(slope.astype(np.float32), 3 * wide**2, 2**-6)

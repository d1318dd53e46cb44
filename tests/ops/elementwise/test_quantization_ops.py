"""Quantized numbers and back: TensorFlow's values, refusals, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

NUMBERS = np.array([-3.0, -2.0, -0.5, 0.0, 0.5, 1.0, 3.0, 4.0], np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize(
    ("dtype", "mode", "numbers", "ends"),
    [
        ("qint8", "MIN_COMBINED", [-128, -128, -52, -26, -1, 25, 127, 127], [-2.0, 3.0]),
        ("qint8", "MIN_FIRST", [-128, -128, -52, -26, 0, 25, 127, 127], [-2.0, 3.0]),
        ("qint8", "SCALED", [-127, -85, -21, 0, 21, 42, 127, 127], [-3.0236220359802246, 3.0]),
        ("quint8", "MIN_COMBINED", [0, 0, 77, 102, 128, 153, 255, 255], [-2.0, 3.0]),
        ("quint8", "MIN_FIRST", [0, 0, 76, 102, 128, 153, 255, 255], [-2.0, 3.0]),
        ("quint8", "SCALED", [0, 0, 0, 0, 43, 85, 255, 255], [0.0, 3.0]),
        (
            "qint16",
            "MIN_COMBINED",
            [-32768, -32768, -13108, -6554, -1, 6553, 32767, 32767],
            [-2.0, 3.0],
        ),
        (
            "qint16",
            "MIN_FIRST",
            [-32768, -32768, -13108, -6554, 0, 6553, 32767, 32767],
            [-2.0, 3.0],
        ),
        (
            "qint16",
            "SCALED",
            [-32767, -21845, -5461, 0, 5461, 10922, 32767, 32767],
            [-3.000091552734375, 3.0],
        ),
    ],
)
def test_numbers_are_tensorflows(dtype, mode, numbers, ends):
    output = tf.quantization.quantize(NUMBERS, -2.0, 3.0, getattr(tf, dtype), mode)
    assert output[0].dtype.name == dtype
    back = tf.quantization.dequantize(*output, mode)
    whole, low, high, real = run([*output, back])
    assert whole.tolist() == numbers
    assert whole.dtype == np.dtype(getattr(tf, dtype).as_numpy_dtype)[0]
    np.testing.assert_allclose([low, high], ends, rtol=1e-6)
    step = (high - low) / 255
    np.testing.assert_allclose(real, np.clip(NUMBERS, low, high), atol=step)


def test_quantized_numbers_reach_the_program_as_integers():
    vector = tf.cast([1, -2], tf.qint16)
    seen = []
    called = tf.py_func(lambda *arrays: seen.extend(arrays) or 0, [vector, vector[1]], tf.int64)
    fed = tf.placeholder(tf.quint8)
    with tf.Session() as session:
        values = session.run([vector, vector[1]])
        session.run(called)
        stored = np.array([3, 4], np.uint8)
        values += [
            session.run(fed, {fed: stored}),
            session.make_callable(tf.identity(fed), [fed])(stored),
        ]
        handle = session.partial_run_setup([vector])
        values.append(session.partial_run(handle, vector))
    expected = [[1, -2], -2, [3, 4], [3, 4], [1, -2]]
    assert [np.asarray(value).tolist() for value in values] == expected
    assert [value.dtype.name for value in values] == ["int16", "int16", "uint8", "uint8", "int16"]
    assert [(value.dtype.name, value.tolist()) for value in seen] == [
        ("int16", [1, -2]),
        ("int16", -2),
    ]


def test_kept_and_saved_quantized_numbers_are_integers(tmp_path):
    variable = tf.Variable(tf.cast([1, 2], tf.quint8), use_resource=False, name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(variable.initializer)
        path = saver.save(session, str(tmp_path / "m"))
        variable.load(np.array([7, 8], np.uint8), session)
        values = [
            session.run(variable),
            session.run(tf.get_session_handle(tf.identity(variable))).eval(),
        ]
        saver.restore(session, path)
        values += [session.run(variable), tf.train.load_variable(path, "v")]
    assert [value.tolist() for value in values] == [[7, 8], [7, 8], [1, 2], [1, 2]]
    assert {value.dtype.name for value in values} == {"uint8"}


def test_the_range_is_widened_to_zero_and_a_hundredth():
    low, high = run(tf.quantization.quantize(NUMBERS, 1.0, 2.0, tf.quint8)[1:])
    assert (low, high) == (0.0, 2.0)
    low, high = run(tf.quantization.quantize(NUMBERS, 0.0, 0.0, tf.quint8)[1:])
    np.testing.assert_allclose([low, high], [0.0, 0.01])


def test_wrong_modes_and_ranges_are_refused():
    with pytest.raises(ValueError, match="Attr 'mode' of 'QuantizeV2' Op passed string 'MAX' not"):
        tf.quantization.quantize(NUMBERS, 0.0, 1.0, tf.qint8, "MAX")
    output = tf.quantization.quantize(NUMBERS, 2.0, 1.0, tf.qint8)[0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="smaller than max_range"):
        run(output)


@pytest.mark.parametrize(("round_mode", "expected"), [("HALF_TO_EVEN", 0.0), ("HALF_UP", 1.0)])
def test_halves_are_rounded_as_asked(round_mode, expected):
    x = tf.constant([0.5, -4.0])
    output = tf.quantization.quantize_and_dequantize(x, 0.0, 0.0, num_bits=3, round_mode=round_mode)
    assert run(output).tolist() == [expected, -4.0]


def test_the_gradient_is_that_of_the_identity():
    x = tf.constant(NUMBERS)
    output = tf.quantization.quantize_and_dequantize(x, -1.0, 1.0, range_given=True)
    np.testing.assert_array_equal(run(tf.gradients(output, x)[0]), np.ones(8, np.float32))
    by_bits = tf.raw_ops.QuantizeAndDequantizeV3(
        input=x, input_min=-1.0, input_max=1.0, num_bits=5, range_given=True
    )
    np.testing.assert_array_equal(run(tf.gradients(by_bits, x)[0]), np.ones(8, np.float32))


def test_a_range_upside_down_is_refused():
    output = tf.quantization.quantize_and_dequantize(NUMBERS, 1.0, -1.0, range_given=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid range: input_min"):
        run(output)


@pytest.mark.parametrize(("version", "name"), [("2", "input_min"), ("3", "num_bits")])
def test_ranges_and_bits_are_scalars(version, name):
    args = {"input": NUMBERS, "input_min": -1.0, "input_max": 1.0, "num_bits": 8}
    rounded = getattr(tf.raw_ops, f"QuantizeAndDequantizeV{version}")
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
        rounded(**{**args, name: [3]})
    value = tf.placeholder(tf.int32 if name == "num_bits" else tf.float32)
    output = rounded(**{**args, name: value})
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="rank 0"):
        session.run(output, {value: [3]})


def test_the_older_name():
    new = tf.quantization.quantize(NUMBERS, -2.0, 3.0, tf.qint8, "SCALED", "HALF_TO_EVEN")
    old = tf.quantize_v2(NUMBERS, -2.0, 3.0, tf.qint8, "SCALED", round_mode="HALF_TO_EVEN")
    for first, second in zip(*run([new, old])):
        np.testing.assert_array_equal(first, second)

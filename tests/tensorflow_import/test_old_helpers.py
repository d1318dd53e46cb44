"""Functions of 1.15 that libraries' tests and TensorBoard call."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np
import pytest

import gpugraph
import gpugraph as tf


@pytest.fixture(autouse=True)
def tensorflow():
    with gpugraph.as_tensorflow(), tf.Graph().as_default():
        yield


@pytest.mark.parametrize("rows", [None, 1, [0, 2]])
def test_rows_are_changed_in_place_of_a_scalar_a_vector_or_all(rows):
    inplace_ops = importlib.import_module("tensorflow.python.ops.inplace_ops")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    values = np.ones_like(x if rows is None else x[rows])
    expected = [x.copy(), x.copy(), x.copy()]
    where = slice(None) if rows is None else rows
    expected[0][where], expected[1][where] = 1, x[where] + 1
    expected[2][where] = x[where] - 1
    with tf.Session() as session:
        for kind, result in zip(("update", "add", "sub"), expected):
            for prefix in ("alias_inplace", "inplace"):
                changed = getattr(inplace_ops, f"{prefix}_{kind}")(tf.constant(x), rows, values)
                np.testing.assert_array_equal(session.run(changed), result)


def test_lists_of_tensors_take_shapes_with_unknown_sizes():
    lists = importlib.import_module("tensorflow.python.ops.list_ops")
    pairs = lists.empty_tensor_list([2], tf.float32)
    for pair in ([1.0, 2.0], [3.0, 4.0]):
        pairs = lists.tensor_list_push_back(pairs, tf.constant(pair))
    rows = lists.tensor_list_reserve(tf.TensorShape([None]), 3, tf.int32)
    rows = lists.tensor_list_set_item(rows, 4, [7], resize_if_index_out_of_bounds=True)
    parts = lists.tensor_list_split([1, 2, 3, 4], [None], tf.constant([2, 2], tf.int64))
    scattered = lists.tensor_list_scatter([[1], [2]], [1, 0], [1])
    fetches = {
        "stack": lists.tensor_list_stack(pairs, tf.float32),
        "popped": lists.tensor_list_pop_back(pairs, tf.float32)[1],
        "length": lists.tensor_list_length(rows),
        "gathered": lists.tensor_list_gather(parts, [1], tf.int32),
        "joined": lists.tensor_list_concat(parts, tf.int32, [None]),
        "scattered": lists.tensor_list_stack(scattered, tf.int32),
    }
    with tf.Session() as session:
        found = {key: np.asarray(value).tolist() for key, value in session.run(fetches).items()}
    assert found == {
        "stack": [[1, 2], [3, 4]],
        "popped": [3, 4],
        "length": 5,
        "gathered": [[3, 4]],
        "joined": [1, 2, 3, 4],
        "scattered": [[2], [1]],
    }


def test_a_record_reader_reads_records_that_are_appended_later(tmp_path):
    pywrap_tensorflow = importlib.import_module("tensorflow.python.pywrap_tensorflow")
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(b"first")
        writer.flush()
        with tf.errors.raise_exception_on_not_ok_status() as status:
            reader = pywrap_tensorflow.PyRecordReader_New(str(path).encode(), 0, b"", status)
        reader.GetNext()
        assert reader.record() == b"first"
        with pytest.raises(tf.errors.OutOfRangeError):
            reader.GetNext()
        writer.write(b"second")
        writer.write(b"third")
        writer.flush()
        reader.GetNext(status)
        assert reader.record() == b"second"
        reader.GetNext(status)
        assert (reader.record(), reader.offset()) == (b"third", path.stat().st_size)
    with path.open("ab") as file:
        file.write(b"torn")
    with pytest.raises(tf.errors.DataLossError):
        reader.GetNext()
    with pytest.raises(tf.errors.NotFoundError):
        pywrap_tensorflow.PyRecordReader_New(b"/nowhere", 0, b"", None)


def test_a_record_reader_reads_compressed_files(tmp_path):
    pywrap_tensorflow = importlib.import_module("tensorflow.python.pywrap_tensorflow")
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path, "ZLIB") as writer:
        writer.write(b"first")
    reader = pywrap_tensorflow.PyRecordReader_New(path, 0, "ZLIB", None)
    reader.GetNext()
    assert reader.record() == b"first"
    with pytest.raises(tf.errors.OutOfRangeError):
        reader.GetNext()


def test_a_scalar_shape_is_that_of_a_vector():
    size = tf.size(tf.placeholder_with_default([1.0, 2.0, 3.0], [None]))
    with tf.Session() as session:
        assert session.run([tf.zeros(size), tf.ones(size, tf.int32)])[1].tolist() == [1, 1, 1]


def test_a_mask_of_numbers_keeps_what_is_not_zero():
    with tf.Session() as session:
        masked = tf.boolean_mask([1, 2, 3], tf.constant([1.0, 0.0, 2.0]))
        assert session.run(masked).tolist() == [1, 3]


def test_methods_of_absl_are_those_of_test_cases():
    class Case(tf.test.TestCase):
        def test(self):
            pass

    case = Case("test")
    if importlib.util.find_spec("absl") is None:
        with pytest.raises(AttributeError, match="pip install absl-py"):
            case.assertSameElements([1], [1])
        return
    case.assertSameElements([1, 2, 2], [2, 1])
    with pytest.raises(AssertionError):
        case.assertContainsSubset([3], [1, 2])


def test_an_optimizer_of_keras_may_compute_gradients_itself():
    class Doubling(tf.keras.optimizers.SGD):
        def _compute_gradients(self, loss, var_list, grad_loss=None):
            pairs = super()._compute_gradients(loss.value, var_list, grad_loss)
            return [(2 * gradient, variable) for gradient, variable in pairs]

    class Problem:
        pass

    v, problem = tf.Variable(1.0), Problem()
    problem.value = 3 * v
    step = Doubling(0.1).minimize(problem, [v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v) == pytest.approx(0.4)


def test_a_callback_list_calls_methods_by_name():
    seen = []

    class Noting(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((epoch, logs))

        def on_train_end(self, logs):
            seen.append(logs)

    callbacks = importlib.import_module("tensorflow.python.keras.callbacks").CallbackList(
        [Noting()]
    )
    callbacks.on_train_begin()
    callbacks.on_epoch_end(3, {"loss": 1})
    callbacks.on_epoch_end(4)
    callbacks.on_train_end({"a": 1})
    callbacks.on_train_end(logs={"b": 2})
    assert seen == [(3, {"loss": 1}), (4, {}), {"a": 1}, {"b": 2}]
    with pytest.raises(AttributeError):
        _ = callbacks.on_nothing


def test_a_layer_whose_call_has_no_training_may_be_called_with_it():
    class Doubling(tf.keras.layers.Layer):
        def call(self, inputs):
            return 2 * inputs

    with tf.Session() as session:
        assert session.run(Doubling(autocast=False)(tf.constant([1.0]), training=True)) == [2]
        with pytest.raises(TypeError, match="training_"):
            Doubling()(tf.constant([1.0]), training_=True)


def test_resource_variables_are_recognized():
    operations = importlib.import_module("tensorflow.python.ops.resource_variable_ops")
    resource = tf.get_variable("r", initializer=1.0, use_resource=True)
    reference = tf.get_variable("v", initializer=1.0, use_resource=False)
    assert operations.is_resource_variable(resource)
    assert not operations.is_resource_variable(reference)
    assert not operations.is_resource_variable(1)

"""tf.py_func and tf.numpy_function: arguments and results of functions, errors, lifetimes."""

from __future__ import annotations

import gc
import queue
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def call(function: Any, *values: Any, to: Any = tf.float32, **options: Any) -> Any:
    return run(tf.py_func(function, [np.array(value) for value in values], to, **options))


FLOATS = np.array([1, 2], np.float32)


# -- arguments


def test_arguments_are_numpys() -> None:
    got: list[Any] = []

    def keep(*arguments: Any) -> Any:
        got.extend(arguments)
        return np.float32(len(arguments))

    inputs = [FLOATS, np.float32(3), True, "text", np.array(["a", "é"]), np.int64(4)]
    assert run(tf.py_func(keep, inputs, tf.float32)) == 6
    assert [type(value) for value in got] == [
        np.ndarray, np.float32, np.bool_, bytes, np.ndarray, np.int64,
    ]  # fmt: skip
    assert [np.asarray(array).tolist() for array in got] == [
        [1, 2], 3, True, b"text", [b"a", "é".encode()], 4,
    ]  # fmt: skip


def test_arguments_are_the_functions_own() -> None:
    kept: list[Any] = []

    def change(array: Any) -> Any:
        kept.append(array)
        array += 1
        return array

    x = tf.placeholder(tf.float32, [2])
    y = x * 2.0
    changed = tf.py_func(change, [y], tf.float32)
    with tf.control_dependencies([changed]):
        after = y + 0.0
    with tf.Session() as session:
        assert [array.tolist() for array in session.run([changed, after], {x: [1, 2]})] == [
            [3, 5],
            [2, 4],
        ]
        session.run(changed, {x: [5, 6]})
    assert [array.tolist() for array in kept] == [[3, 5], [11, 13]]


def test_it_runs_once_a_run_and_only_if_needed() -> None:
    calls: list[int] = []
    counted = tf.py_func(lambda: calls.append(1) or np.int64(len(calls)), [], tf.int64)
    other = tf.constant(1.0)
    with tf.Session() as session:
        assert session.run([counted, counted, other])[:2] == [1, 1]
        session.run(other)
        assert session.run(counted) == 2
    assert len(calls) == 2


def test_sizes_may_differ_from_run_to_run() -> None:
    x = tf.placeholder(tf.int64, [])
    some = tf.py_func(lambda n: np.arange(n, dtype=np.float32), [x], tf.float32)
    total = tf.reduce_sum(some) + tf.cast(tf.size(some), tf.float32)
    with tf.Session() as session:
        for count in (3, 0, 5):
            result = session.run([some, total], {x: count})
            assert result[0].tolist() == [*range(count)]
            assert result[1] == sum(range(count)) + count


def test_a_function_may_run_the_session() -> None:
    x = tf.constant(2.0)
    with tf.Session() as session:
        y = tf.py_func(lambda: np.float32(session.run(x) * 3), [], tf.float32)
        assert session.run(y + x) == 8


def test_it_runs_on_the_host_between_gpu_ops() -> None:
    with tf.device("/gpu:0"):
        x = tf.constant([1.0, 2.0]) * 2.0
    with tf.device("/cpu:0"):
        y = tf.py_func(lambda a: a + 1, [x], tf.float32)
        y.set_shape([2])
    with tf.device("/gpu:0"):
        z = y * 3.0
    options = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Session(config=options) as session:
        assert session.run(z).tolist() == [9, 15]


# -- results


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (1.5, tf.float64, 1.5),
        (3, tf.int64, 3),
        (True, tf.bool, True),
        ([2.5], tf.float64, 2.5),  # a list is one of results
        ([[1.0, 2.0]], tf.float64, [1, 2]),
        (np.arange(6.0).reshape(2, 3).T, tf.float64, [[0, 3], [1, 4], [2, 5]]),
        (np.arange(3, dtype=">f4"), tf.float32, [0, 1, 2]),
        ("é", tf.string, "é".encode()),
        (b"a\0\0", tf.string, b"a\0\0"),
        (np.array(["a", "bc"]), tf.string, [b"a", b"bc"]),
        (np.array([b"a", "bc"], object), tf.string, [b"a", b"bc"]),
        (np.zeros((0, 2), np.float32), tf.float32, []),
    ],
)
def test_results(value: Any, dtype: Any, wanted: Any) -> None:
    result = call(lambda: value, to=dtype)
    assert np.asarray(result, object if dtype is tf.string else None).tolist() == wanted


def test_numbers_of_results() -> None:
    pair = run(tf.py_func(lambda a: (a, a[0] * 2), [FLOATS], [tf.float32, tf.float32]))
    assert [np.asarray(array).tolist() for array in pair] == [[1, 2], 2]
    (lone,) = run(tf.py_func(lambda a: a, [FLOATS], (tf.float32,)))
    assert lone.tolist() == [1, 2]
    called: list[int] = []
    nothing = tf.py_func(lambda: called.append(1), [], [])
    assert isinstance(nothing, tf.Operation)
    assert run(nothing) is None
    assert called == [1]


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        ((1.0, 2.0), tf.float64, r"pyfunc_\d+ returns 2 values, but expects to see 1 values"),
        (None, tf.float64, "returns 0 values, but expects to see 1 values"),
        (1.0, [tf.float64] * 2, "returns 1 values, but expects to see 2 values"),
        (1.0, tf.float32, r"0-th value returned by pyfunc_\d+ is float64, but expects float32"),
        ((1.0, 1), [tf.float64, tf.int32], "1-th value returned by .* is int64, but expects int32"),
    ],
)
def test_results_that_are_refused(value: Any, dtype: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message + r"(.|\n)*\[\[node PyFunc "):
        call(lambda: value, to=dtype)


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        ({"a": 1}, tf.float32, r"^Unsupported object type dict: 0-th value returned by pyfunc_"),
        (object(), tf.float32, "^Unsupported object type object: .* not an array of numbers or"),
        (np.array([b"a", 3], object), tf.string, "^Unsupported object type int: "),
        (np.zeros(2, [("a", "i4")]), tf.int32, "^Unsupported numpy data type: .* is an array of"),
        (np.array(["2020-01-01"], "datetime64[D]"), tf.int64, "^Unsupported numpy data type: "),
    ],
)
def test_results_that_are_no_tensors(value: Any, dtype: Any, message: str) -> None:
    with pytest.raises(tf.errors.InternalError, match=message + r"(.|\n)*\[\[node PyFunc "):
        call(lambda: value, to=dtype)


def test_a_stateless_function_of_nothing_is_called_once_a_session() -> None:
    calls: list[int] = []

    def count() -> Any:
        calls.append(1)
        return np.int64(len(calls)), np.arange(len(calls))

    number, numbers = tf.py_func(count, [], [tf.int64, tf.int64], stateful=False)
    with tf.Session() as session:
        assert [session.run(number), session.run(number)] == [1, 1]
        assert session.run([number, numbers])[1].tolist() == [0]
    assert run(number) == 2
    assert len(calls) == 2
    assert tf.py_func(lambda: None, [], [], stateful=False) == []
    assert run(tf.py_func(lambda: None, [], [], stateful=False)) == []


# -- functions that wait for each other


def message_and_answer(*inputs: Any, to: Any = tf.int64) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the message that a function of these inputs posts before it returns, and its
    result.
    """
    box: queue.Queue[Any] = queue.Queue()

    def post(*arguments: Any) -> Any:
        box.put(sum(arguments))
        return np.int64(7)

    got = tf.py_func(lambda: np.int64(box.get(timeout=60)), [], to)
    posted = tf.py_func(post, list(inputs), to)
    for tensor in (got, posted):
        tensor.set_shape([])
    return got, posted


def test_functions_of_one_run_may_wait_for_each_other() -> None:
    got, posted = message_and_answer(5)
    with tf.Session() as session:
        for _ in range(3):
            assert session.run([got, posted]) == [5, 7]


def test_a_function_may_wait_for_one_that_is_deeper_in_the_graph() -> None:
    x = tf.placeholder(tf.int64, [])
    got, posted = message_and_answer(tf.negative(x * 2) + x)
    assert run([got + 1, posted], {x: 4}) == [-3, 7]


def test_functions_may_wait_for_each_other_in_branches_and_loops() -> None:
    x = tf.placeholder(tf.int64, [])
    either = tf.cond(x > 0, lambda: tf.add(*message_and_answer(x * 2)), lambda: x)
    total = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, total: (i + 1, total + tf.add_n(message_and_answer(i * x))),
        [tf.constant(0, tf.int64), tf.constant(0, tf.int64)],
    )[1]
    assert run([either, total], {x: 2}) == [11, 7 * 3 + 2 + 4]
    assert run(either, {x: -1}) == -1


def test_functions_may_wait_for_each_other_that_read_variables() -> None:
    variable = tf.Variable(3.0, use_resource=False)
    box: queue.Queue[Any] = queue.Queue()
    got = tf.py_func(lambda value: value * box.get(timeout=60), [variable], tf.float32)
    put = tf.py_func(lambda value: (box.put(value), value)[1], [variable], tf.float32)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run([got, put])
        session.run(variable.initializer)
        assert session.run([got, put]) == [9, 3]


def test_quick_functions_are_called_in_their_order() -> None:
    calls: list[int] = []
    ops = [tf.py_func(lambda i=i: calls.append(i), [], []) for i in range(5)]
    run(ops)
    assert calls == [0, 1, 2, 3, 4]


def test_the_first_of_functions_that_fail_is_named() -> None:
    def fail() -> Any:
        raise ValueError("blah")

    good = tf.py_func(lambda: np.int64(1), [], tf.int64, name="good")
    bad = [tf.py_func(fail, [], tf.int64, name=name) for name in ("bad", "worse")]
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^ValueError: blah") as result:
            session.run([good, *bad])
        assert result.value.op is bad[0].op
        assert session.run(good) == 1


def test_a_limit_ends_a_run_whose_functions_wait_for_ever() -> None:
    end = threading.Event()
    stuck = [tf.py_func(lambda: end.wait(60), [], tf.bool) for _ in range(2)]
    options = tf.RunOptions(timeout_in_ms=200)
    try:
        with tf.Session() as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match="'PyFunc'"):
                session.run(stuck, options=options)
            end.set()
            assert session.run(stuck) == [True, True]
    finally:
        end.set()


# -- exceptions


class OfTheirOwn(ValueError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (OfTheirOwn, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
        (ZeroDivisionError, tf.errors.UnknownError),
        (AssertionError, tf.errors.UnknownError),
    ],
)
def test_exceptions_become_tensorflows(error: type[Exception], kind: type[Exception]) -> None:
    def deep() -> Any:
        raise error("of a sort")

    def shallow() -> Any:
        return deep()

    with pytest.raises(kind, match=f"{error.__name__}: .?of a sort") as result:
        call(shallow)
    assert type(result.value) is kind
    message = str(result.value)
    assert "in shallow" in message
    assert "in deep" in message
    assert message.count(f"{error.__name__}: ") == 2, "it stands before and after the traceback"
    assert "[[node PyFunc " in message
    assert 'script.py", line' not in message.replace("test_py_func.py", ""), "ours is no news"


def test_a_run_that_was_stopped_is_no_error_of_the_function() -> None:
    def stop() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(stop)


def test_another_number_of_arguments() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="takes 0 positional arguments"):
        call(lambda: 1.0, FLOATS)


def test_what_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="Expected func to be callable"):
        tf.py_func(3, [FLOATS], tf.float32)
    with pytest.raises(TypeError):
        tf.py_func(lambda: 1, None, tf.float32)
    with pytest.raises(TypeError):
        tf.py_func(lambda: 1, [], "no dtype")


# -- in the graph


def test_names_and_attrs(graph: tf.Graph) -> None:
    x = tf.constant([1.0])
    first = tf.py_func(lambda a: a, [x], tf.float32)
    tf.py_func(lambda a: a, [x], tf.float32, stateful=False)
    tf.numpy_function(lambda a, b: a, [[1.0], 2], [tf.float32, tf.int32], name="mine")
    assert [(op.name, op.type) for op in graph.get_operations()] == [
        ("Const", "Const"),
        ("PyFunc", "PyFunc"),
        ("PyFuncStateless", "PyFuncStateless"),
        ("mine/input_0", "Const"),
        ("mine/input_1", "Const"),
        ("mine", "PyFunc"),
    ]
    assert first.shape.rank is None
    attrs = graph.get_operation_by_name("mine").attrs
    assert attrs["Tin"] == [tf.float32, tf.int32]
    assert attrs["Tout"] == [tf.float32, tf.int32]
    assert attrs["token"].startswith("pyfunc_")


def test_there_is_no_gradient() -> None:
    x = tf.constant([1.0])
    assert tf.gradients(tf.py_func(lambda a: a, [x], tf.float32), x) == [None]


def test_functions_live_as_long_as_their_graph() -> None:
    class Counter:
        def add(self, value: Any) -> Any:
            return value + np.float32(1)

    counter = Counter()
    gone = weakref.ref(counter)
    other = tf.Graph()
    with other.as_default():
        y = tf.py_func(counter.add, [np.float32(1)], tf.float32)
        with tf.Session() as session:
            assert session.run(y) == 2
    del counter, session
    gc.collect()
    assert gone() is not None
    del other, y
    gc.collect()
    assert gone() is None


def test_a_function_that_is_gone_is_named() -> None:
    lost = tf.raw_ops.PyFunc([1.0], token="pyfunc_of_old", Tout=[tf.float32])
    with pytest.raises(tf.errors.InvalidArgumentError, match="pyfunc_of_old is not found"):
        run(lost)

"""Lists of tensors in variants: their ops, gradients and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

raw = tf.raw_ops
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
FLOAT = {"element_dtype": tf.float32}


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def of_rows(rows: Any = ROWS) -> Any:
    return raw.TensorListFromTensor(
        tensor=rows, element_shape=tf.constant(-1), element_dtype=tf.float32
    )


def stack(handle: Any, shape: Any = -1, **attrs: Any) -> Any:
    return raw.TensorListStack(
        input_handle=handle, element_shape=tf.constant(shape, tf.int32), **FLOAT, **attrs
    )


def get(handle: Any, index: int, shape: Any = -1) -> Any:
    return raw.TensorListGetItem(
        input_handle=handle, index=index, element_shape=tf.constant(shape, tf.int32), **FLOAT
    )


def reserve(count: int, shape: Any = (2,)) -> Any:
    return raw.TensorListReserve(
        element_shape=tf.constant(shape, tf.int32), num_elements=count, **FLOAT
    )


def put(handle: Any, index: int, item: Any, **attrs: Any) -> Any:
    return raw.TensorListSetItem(input_handle=handle, index=index, item=item, **FLOAT, **attrs)


def push(handle: Any, item: Any) -> Any:
    return raw.TensorListPushBack(input_handle=handle, tensor=item, **FLOAT)


def empty(shape: Any = -1, limit: int = -1) -> Any:
    return raw.EmptyTensorList(
        element_shape=tf.constant(shape, tf.int32), max_num_elements=limit, **FLOAT
    )


def test_rows_become_a_list_and_come_back() -> None:
    handle = of_rows()
    assert handle.dtype is tf.variant and handle.shape == []
    length = raw.TensorListLength(input_handle=handle)
    values = run([stack(handle), stack(handle, (2,)), get(handle, 1), length])
    np.testing.assert_equal(values, [ROWS, ROWS, ROWS[1], 3])
    assert stack(handle, (2,), num_elements=3).shape == [3, 2]


def test_a_list_is_a_value() -> None:
    first = reserve(3)
    second = put(first, 1, [5.0, 6.0])
    third = put(second, 1, [7.0, 8.0])
    values = run([stack(first), stack(second), stack(third)])
    np.testing.assert_equal([value[1] for value in values], [[0, 0], [5, 6], [7, 8]])


def test_elements_are_pushed_and_popped() -> None:
    handle = push(push(empty(), [1.0]), [2.0, 3.0])
    rest, last = raw.TensorListPopBack(
        input_handle=handle, element_shape=tf.constant(-1), element_dtype=tf.float32
    )
    np.testing.assert_equal(run([last, stack(rest)]), [[2, 3], [[1]]])
    joined = raw.TensorListConcatLists(input_a=handle, input_b=handle, **FLOAT)
    assert run(raw.TensorListLength(input_handle=joined)) == 4
    values, lengths = raw.TensorListConcat(input_handle=joined, **FLOAT)
    np.testing.assert_equal(run([values, lengths]), [[1, 2, 3, 1, 2, 3], [1, 2, 1, 2]])


def test_gather_scatter_split_resize_and_shapes() -> None:
    handle = raw.TensorListScatterV2(
        tensor=ROWS, indices=[2, 0, 3], element_shape=[2], num_elements=-1, **FLOAT
    )
    gathered = raw.TensorListGather(
        input_handle=handle, indices=[0, 1, 3], element_shape=tf.constant([2]), **FLOAT
    )
    assert gathered.shape == [3, 2]
    parts = raw.TensorListSplit(
        tensor=ROWS, element_shape=[-1, 2], lengths=tf.constant([1, 2], tf.int64), **FLOAT
    )
    into = raw.TensorListScatterIntoExistingList(
        input_handle=of_rows(), tensor=-ROWS[:2], indices=[2, 0], **FLOAT
    )
    shape = raw.TensorListElementShape(input_handle=parts, shape_type=tf.int64)
    longer = raw.TensorListResize(input_handle=handle, size=6)
    shorter = raw.TensorListResize(input_handle=handle, size=1)
    values = run([gathered, get(parts, 1), stack(into), shape, stack(longer), stack(shorter)])
    wanted = [ROWS[1], [0, 0], ROWS[2]]
    np.testing.assert_equal(values[0], wanted)
    np.testing.assert_equal(values[1], ROWS[1:])
    np.testing.assert_equal(values[2], [-ROWS[1], ROWS[1], -ROWS[0]])
    np.testing.assert_equal(values[3], [-1, 2])
    np.testing.assert_equal(values[4][[0, 3, 5]], [ROWS[1], ROWS[2], [0, 0]])
    np.testing.assert_equal(values[5], ROWS[1:2])


def test_lists_of_strings_and_of_other_dtypes() -> None:
    for rows in (np.array([b"a", b"b"], object), np.arange(4, dtype=np.int64), np.eye(2) > 0):
        dtype = tf.as_dtype(rows.dtype)
        handle = raw.TensorListFromTensor(
            tensor=rows, element_shape=tf.constant(-1), element_dtype=dtype
        )
        shape = tf.constant(-1)
        back = raw.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=dtype)
        np.testing.assert_array_equal(run(back), rows)


def test_lists_in_loops_and_branches() -> None:
    n = tf.placeholder(tf.int32, [])
    squares = tf.while_loop(
        lambda i, handle: i < n,
        lambda i, handle: (i + 1, push(handle, tf.fill([i], 1.0))),
        [0, empty()],
    )[1]
    chosen = tf.cond(n > 2, lambda: squares, lambda: push(squares, [9.0]))
    length = raw.TensorListLength(input_handle=chosen)
    with tf.Session() as session:
        for count in (0, 1, 5):
            assert session.run(length, {n: count}) == count + (count <= 2)
        np.testing.assert_equal(session.run(get(chosen, 3), {n: 5}), [1, 1, 1])


def numeric(function: Callable[[Any], Any], x: Any) -> Any:
    result = np.zeros_like(x)
    with tf.Session() as session:
        at = tf.placeholder(tf.float32, x.shape)
        y = function(at)
        for index in np.ndindex(*x.shape):
            step = np.zeros_like(x)
            step[index] = 0.01
            high, low = (session.run(y, {at: x + sign * step}) for sign in (1, -1))
            result[index] = (high - low) / 0.02
    return result


def weighted(rows: Any) -> Any:
    return tf.reduce_sum(tf.square(rows) * tf.constant([[1.0, 2.0]]))


def _loop(x: Any) -> Any:
    rows = of_rows(x)
    step = lambda i, kept: (i + 1, put(kept, i, tf.sin(get(rows, i, (2,)))))  # noqa: E731
    return weighted(stack(tf.while_loop(lambda i, _: i < 3, step, [0, reserve(3)])[1], (2,)))


def _popped(x: Any) -> Any:
    handle = push(push(of_rows(x), x[0] * 2), x[1])
    rest, last = raw.TensorListPopBack(
        input_handle=handle, element_shape=tf.constant([2]), element_dtype=tf.float32
    )
    return weighted(stack(rest, (2,))) + tf.reduce_sum(last)


def _scattered(x: Any) -> Any:
    handle = raw.TensorListScatterV2(
        tensor=x, indices=[2, 0, 3], element_shape=[2], num_elements=5, **FLOAT
    )
    handle = raw.TensorListScatterIntoExistingList(
        input_handle=handle, tensor=x[:1] * 3, indices=[3], **FLOAT
    )
    rows = raw.TensorListGather(
        input_handle=handle, indices=[3, 0], element_shape=tf.constant([2]), **FLOAT
    )
    return weighted(rows)


def _split(x: Any) -> Any:
    handle = raw.TensorListSplit(
        tensor=x, element_shape=[-1, 2], lengths=tf.constant([1, 2], tf.int64), **FLOAT
    )
    return weighted(raw.TensorListConcat(input_handle=handle, **FLOAT)[0])


@pytest.mark.parametrize("function", [_loop, _popped, _scattered, _split])
def test_gradients(function: Callable[[Any], Any]) -> None:
    x = tf.constant(ROWS / 4)
    (gradient,) = tf.gradients(function(x), x)
    np.testing.assert_allclose(run(gradient), numeric(function, ROWS / 4), 1e-2, 1e-2)


def test_lists_are_added_and_cleared() -> None:
    handle = put(reserve(2), 0, [1.0, 2.0])
    total = raw.AddN(inputs=[handle, handle, of_rows(ROWS[:2])])
    np.testing.assert_equal(run(stack(total)), [[2, 5], [2, 3]])
    np.testing.assert_equal(run(stack(raw.ZerosLike(x=of_rows()))), ROWS * 0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: get(of_rows(), 3), "Trying to access element 3 in a list with 3 elements"),
        (lambda: get(reserve(1, -1), 0), "uninitialized tensor but element_shape is not fully"),
        (lambda: stack(push(empty((3,)), [1.0])), "incompatible shape to a list. Op element shape"),
        (lambda: stack(push(empty(-1, 0), [1.0])), "Tried to push item into a full list"),
        (lambda: stack(empty()), "empty list with non-fully-defined element_shape"),
        (lambda: stack(of_rows(), (3,)), "Incompatible shapes"),
        (lambda: stack(of_rows(), num_elements=2), "expected a list with 2 elements but got"),
        (lambda: stack(reserve(-1)), "num_elements to reserve must be a non negative number"),
        (lambda: stack(of_rows(ROWS[0, 0])), "Tensor must be at least a vector"),
        (lambda: raw.TensorListStack(input_handle=of_rows(), element_shape=tf.constant(-1),
                                     element_dtype=tf.int32), "Invalid data types; op elements"),
    ],
)  # fmt: skip
def test_errors(make: Callable[[], Any], said: str) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=said):
        run(make())


def test_zeros_like_a_list_is_a_list_of_zeros():
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.raw_ops.TensorListFromTensor([[1.0, 2.0], [3.0, 4.0]], [2])
        zeros = tf.zeros_like(rows)
        assert (zeros.op.type, zeros.dtype) == ("ZerosLike", tf.variant)
        total = tf.add_n([rows, rows, zeros])
        stacked = [
            tf.raw_ops.TensorListStack(part, [2], element_dtype=tf.float32)
            for part in (zeros, total)
        ]
        values = session.run(stacked)
    assert [value.tolist() for value in values] == [[[0, 0], [0, 0]], [[2, 4], [6, 8]]]

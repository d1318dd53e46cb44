"""Optionals: tensors, or none, in variants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

raw = tf.raw_ops
TYPES = {"output_types": [tf.float32, tf.string], "output_shapes": [[2], []]}


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def chosen(is_filled: Any) -> Any:
    return tf.cond(
        is_filled,
        lambda: raw.OptionalFromValue(components=[tf.constant([1.0, 2.0]), tf.constant("a")]),
        lambda: raw.OptionalNone(),
    )


def test_an_optional_gives_what_it_holds() -> None:
    is_filled = tf.placeholder(tf.bool, [])
    optional = chosen(is_filled)
    values = raw.OptionalGetValue(optional=optional, **TYPES)
    assert [tensor.shape.as_list() for tensor in values] == [[2], []]
    numbers, text = run(values, {is_filled: True})
    np.testing.assert_array_equal(numbers, [1, 2])
    assert text == b"a"
    has_value = raw.OptionalHasValue(optional=optional)
    assert [run(has_value, {is_filled: fed}) for fed in (True, False)] == [True, False]


def test_what_it_holds_is_a_copy() -> None:
    x = tf.Variable([1.0, 2.0])
    optional = raw.OptionalFromValue(components=[x.read_value()])
    with tf.control_dependencies([optional]):
        (after,) = [x.assign([7.0, 8.0])]
    with tf.control_dependencies([after]):
        (y,) = raw.OptionalGetValue(optional=optional, output_types=[tf.float32],
                                    output_shapes=[[2]])  # fmt: skip
    with tf.Session() as session:
        session.run(x.initializer)
        np.testing.assert_array_equal(session.run(y), [1, 2])


def test_gradients_go_through() -> None:
    x = tf.constant([3.0])
    optional = raw.OptionalFromValue(components=[x])
    (y,) = raw.OptionalGetValue(optional=optional, output_types=[tf.float32], output_shapes=[[1]])
    np.testing.assert_array_equal(run(tf.gradients(y * y, x)[0]), [6])


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ([tf.float32], "The given optional has 2 components, expected 1"),
        ([tf.int32, tf.string], "The given optional has a component of float32, expected int32"),
    ],
)
def test_other_components_are_refused(types: Any, said: str) -> None:
    values = raw.OptionalGetValue(
        optional=chosen(tf.constant(True)), output_types=types, output_shapes=[None] * len(types)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        run(values)


def test_no_value_is_refused() -> None:
    values = raw.OptionalGetValue(optional=raw.OptionalNone(), **TYPES)
    with pytest.raises(tf.errors.InvalidArgumentError, match="The given optional does not have a"):
        run(values)


def test_another_variant_is_refused() -> None:
    handle = raw.TensorListReserve(
        element_shape=tf.constant([2]), num_elements=1, element_dtype=tf.float32
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input is not an optional"):
        run(raw.OptionalHasValue(optional=handle))


def test_optionals_are_added_and_have_zeros() -> None:
    one = raw.OptionalFromValue(components=[tf.constant([1.0, 2.0]), tf.constant(3)])
    shapes = {"output_types": [tf.float32, tf.int32], "output_shapes": [[2], []]}
    total = raw.OptionalGetValue(optional=tf.add_n([one, one]), **shapes)
    zeros = raw.OptionalGetValue(optional=raw.ZerosLike(x=one), **shapes)
    (numbers, number), (no_numbers, nothing) = run([total, zeros])
    assert [numbers.tolist(), number, no_numbers.tolist(), nothing] == [[2, 4], 6, [0, 0], 0]
    empty = raw.OptionalNone()
    assert not run(raw.OptionalHasValue(optional=raw.ZerosLike(x=tf.add_n([empty, empty]))))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot add optionals because one"):
        run(tf.add_n([one, empty]))


def test_an_optional_of_a_list_has_zeros() -> None:
    rows = raw.TensorListFromTensor(
        tensor=tf.constant([[1.0], [2.0]]), element_shape=[1], element_dtype=tf.float32
    )
    outer = raw.TensorListPushBack(
        input_handle=raw.EmptyTensorList(
            element_shape=tf.constant([], tf.int32), max_num_elements=-1, element_dtype=tf.variant
        ),
        tensor=rows,
        element_dtype=tf.variant,
    )
    optional = raw.ZerosLike(x=raw.OptionalFromValue(components=[outer]))
    (held,) = raw.OptionalGetValue(optional=optional, output_types=[tf.variant], output_shapes=[[]])
    _, inner = raw.TensorListPopBack(
        input_handle=held, element_shape=tf.constant([], tf.int32), element_dtype=tf.variant
    )
    values = raw.TensorListStack(input_handle=inner, element_shape=[1], element_dtype=tf.float32)
    assert run(values).tolist() == [[0], [0]]

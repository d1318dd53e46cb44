"""Inference: shapes in loops, of stacks and of arrays, as exact as they can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError

from ..stages import compiled, node, run

OPEN = tf.TensorShape(None)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def looped(body: Any, *start: Any, count: int = 3) -> list[Any]:
    """Return the variables after the loop, and their shapes may change."""
    shapes = [tf.TensorShape([])] + [OPEN] * len(start)
    result = tf.while_loop(
        lambda i, *_: i < count, lambda i, *held: [i + 1, *body(*held)], [0, *start], shapes
    )
    return result[1:]


def shape(fetch: tf.Tensor, name: str = "") -> tuple[int | None, ...] | None:
    """What is known at compile time of the shape of a tensor, or of a node's first output."""
    unit = compiled([fetch], upto="constant_folding")
    return unit.shapes[node(unit, name or fetch.op.name).id][0].sizes


def test_what_keeps_its_shape_is_known() -> None:
    (x,) = looped(lambda x: [tf.tanh(x)], tf.ones([2, 3]))
    assert shape(x) == (2, 3)


def test_what_changes_a_size_leaves_that_one_open() -> None:
    (x,) = looped(lambda x: [tf.concat([x, x], 0)], tf.ones([2, 3]))
    assert shape(x) == (None, 3)
    assert shape(tf.transpose(x), "transpose") == (3, None)


def test_what_changes_its_rank_is_open() -> None:
    (x,) = looped(lambda x: [tf.expand_dims(x, 0)], tf.ones([2]))
    assert shape(x) is None


def test_what_comes_back_from_another_variable() -> None:
    one, other, third = looped(
        lambda a, b, c: [b, c, tf.concat([c, [1.0]], 0)], *[tf.ones([2])] * 3
    )
    assert shape(one) == shape(other) == shape(third) == (None,)
    assert [array.shape for array in run([one, other, third])] == [(3,), (4,), (5,)]


def test_an_inner_loop_begins_with_what_the_outer_one_changes() -> None:
    def body(x: Any) -> Any:
        return looped(lambda y: [y * 2.0], tf.concat([x, x], 0))

    (x,) = looped(body, tf.ones([1, 3]))
    assert shape(x) == shape(x, "while/while/Merge_1") == (None, 3)
    assert run([x])[0].tolist() == [[512.0] * 3] * 8


def test_loops_behind_each_other() -> None:
    x: Any = tf.ones([1])
    for _ in range(6):
        (x,) = looped(lambda x: [tf.concat([x, [1.0]], 0)], x, count=1)
    assert shape(x) == (None,)
    assert run([x])[0].shape == (7,)


def test_a_size_that_changes_is_no_constant() -> None:
    x, sizes = looped(
        lambda x, _: [tf.concat([x, x], 0), tf.shape(x)], tf.ones([1]), tf.constant([1])
    )
    assert [array.tolist() for array in run([tf.shape(x), sizes])] == [[8], [4]]


def test_a_size_that_stays_is_a_constant_in_the_loop() -> None:
    """It is a constant of the loop: it is dead or alive like the tensor whose size it is."""
    _, total = looped(lambda x, total: [x + 1.0, total + tf.size(x, name="count")], tf.ones([5]), 0)
    unit = compiled([total], upto="constant_folding")
    assert node(unit, "while/count").is_constant
    assert run([total]) == [15]


def test_what_does_not_fit_at_first_may_fit_in_the_end() -> None:
    """In the first walk the shapes do not fit: in the end it is open whether they do."""
    x, y = looped(lambda x, y: [tf.concat([x, x], 0), x + y], tf.ones([2]), tf.ones([4]), count=0)
    assert [array.shape for array in run([x, y])] == [(2,), (4,)]
    a, b = tf.placeholder(tf.float32, OPEN), tf.placeholder(tf.float32, OPEN)
    (z,) = looped(lambda z: [tf.add(z, a, name="sum")], b)
    assert run([z], {a: [1.0] * 4, b: [2.0]})[0].tolist() == [5.0] * 4
    with pytest.raises(InvalidArgumentError, match=r"(?s)\[2\] vs. \[4\].*while_1/sum"):
        run([z], {a: [1.0] * 4, b: [2.0] * 2})


@pytest.mark.parametrize("pushed", ["one shape", "many shapes"])
def test_what_a_gradient_takes_from_a_stack(pushed: str) -> None:
    x = tf.ones([2])
    if pushed == "one shape":
        (y,) = looped(lambda y: [tf.tanh(y)], x)
    else:
        (y,) = looped(lambda y: [tf.tanh(tf.concat([y, y], 0))], x)
    (grad,) = tf.gradients(y, x)
    unit = compiled([grad], upto="constant_folding")
    sizes = {
        unit.shapes[node.id][0].sizes for node in unit.graph.op_nodes() if node.type == "StackPopV2"
    }
    assert ((2,) in sizes) == (pushed == "one shape")
    one = 1.0
    slope = 1.0
    for _ in range(3):
        one = float(np.tanh(one))
        slope *= 1 - one**2
    times = 1 if pushed == "one shape" else 8
    np.testing.assert_allclose(run([grad])[0], [slope * times] * 2, rtol=1e-5)


def test_a_run_says_what_tensorflow_s_kernels_say() -> None:
    x, y = tf.placeholder(tf.float32, OPEN), tf.placeholder(tf.float32, OPEN)
    with pytest.raises(InvalidArgumentError, match=r"^Incompatible shapes: \[2\] vs. \[3\]\n"):
        run([x + y], {x: [1.0] * 2, y: [1.0] * 3})


def test_an_assertion_that_a_node_waits_for_fails_before_it():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        with tf.control_dependencies([tf.Assert(tf.size(x) > 9, ["first"])]):
            total = tf.ones_like(x) + y
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: .*first"):
            session.run(total, {x: [1.0, 2.0], y: [1.0, 2.0, 3.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
            session.run(total, {x: [1.0] * 10, y: [1.0, 2.0, 3.0]})


def test_a_variable_that_an_op_without_a_value_would_write_is_fetched_by_its_shape() -> None:
    x, w = tf.placeholder(tf.float32, [None]), tf.Variable(tf.ones([4]))
    y = tf.while_loop(lambda y: tf.reduce_max(y) > 0.5, lambda y: y * 0.5, [x])[0]
    update = tf.assign_sub(w, w * (x + y + tf.placeholder_with_default(tf.ones([3]), [None]))[:1])
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match=r"^Incompatible shapes: \[2\] vs"):
                session.run([update, tf.reduce_sum(y)], {x: [1.0, 2.0]})
        assert session.run(w).tolist() == [1.0] * 4

"""Variables of a server whose sessions declare them differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
pytest.importorskip("google.protobuf", reason="the extra `cluster` is not installed")


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    server = tf.train.Server.create_local_server()
    yield server.target
    server.stop()


def run(
    target: str,
    name: str,
    use_resource: bool,
    use: Callable[[Any], Any],
    shape: Any = (2,),
    dtype: Any = tf.float32,
) -> Any:
    """Run a session whose graph has a variable of that name, initialized to ones; return the
    result.
    """
    with tf.Graph().as_default():
        v = tf.get_variable(
            name, shape, dtype, initializer=tf.ones_initializer(), use_resource=use_resource
        )
        with tf.Session(target) as session:
            return session.run(use(v))


def initializer(v: Any) -> Any:
    return v.initializer


def read(v: Any) -> Any:
    return v + 0


def add(v: Any) -> Any:
    return tf.assign_add(v, tf.ones_like(v))


def scatter(v: Any) -> Any:
    return tf.scatter_update(v, [0], tf.cast(5, v.dtype.base_dtype))


USES = (read, add, scatter, lambda v: tf.gather(v, [0]), lambda v: tf.reduce_sum(v) * 2)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("shape", [(3,), (), (2, 1)])
def test_another_shape(target: str, use_resource: bool, shape: tuple[int, ...]) -> None:
    """Nothing that a graph of another shape runs drops the value, but a resource's assignment."""
    name = f"shape{len(shape)}{use_resource}"
    run(target, name, use_resource, initializer)
    run(target, name, use_resource, add)
    for use in USES if shape else USES[:2]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"has shape \[2\]"):
            run(target, name, use_resource, use, shape)
    if use_resource:
        run(target, name, use_resource, initializer, shape)
        np.testing.assert_array_equal(run(target, name, use_resource, read, shape), np.ones(shape))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"but shape \[2\] in this one"):
            run(target, name, use_resource, read)
    else:
        own = "[" + ",".join(map(str, shape)) + "]"
        words = f"Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= {own}"
        with pytest.raises(tf.errors.InvalidArgumentError) as info:
            run(target, name, use_resource, initializer, shape)
        assert words in info.value.message
        np.testing.assert_array_equal(run(target, name, use_resource, read), [2, 2])


def test_another_dtype(target: str) -> None:
    for use_resource in (False, True):
        name = f"dtype{use_resource}"
        run(target, name, use_resource, initializer)
        for use in (initializer, *USES):
            with pytest.raises(tf.errors.OpError) as info:
                run(target, name, use_resource, use, dtype=tf.int32)
            if not use_resource:
                assert isinstance(info.value, tf.errors.InternalError)
                words = "Output 0 of type float_ref does not match declared output type int32_ref"
            elif use is initializer:
                words = "Trying to assign variable with wrong dtype. Expected float got int32"
            else:
                words = "Trying to read variable with wrong dtype. Expected int32 got float"
            assert words in info.value.message
        np.testing.assert_array_equal(run(target, name, use_resource, read), [1, 1])


def test_a_variable_that_takes_any_shape(target: str) -> None:
    """A graph that leaves the shape open goes on with the shape that there is."""
    run(target, "open", False, initializer)
    with tf.Graph().as_default():
        v = tf.Variable(tf.ones([3, 1]), validate_shape=False, name="open", use_resource=False)
        with tf.Session(target) as session:
            np.testing.assert_array_equal(session.run(v + 0), [1, 1])
            session.run(v.initializer)
            np.testing.assert_array_equal(session.run(v + 0), [[1], [1], [1]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"has shape \[3,1\]"):
        run(target, "open", False, read)

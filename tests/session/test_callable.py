"""make_callable: a function of the fed values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import CallableOptions


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.placeholder(tf.float32, [], name="y")
        tf.add(x * y, 1.0, name="z")
    with tf.Session(graph=graph) as session:
        yield session


def test_values_come_in_the_order_of_the_feed_list(session: Any) -> None:
    call = session.make_callable(["z:0", {"y": "y:0"}], ["y:0", "x:0"])
    for factor in (2.0, 3.0):
        z, rest = call(factor, [1, 2])
        np.testing.assert_array_equal(z, [1 + factor, 1 + 2 * factor])
        assert rest["y"] == factor


def test_nothing_needs_to_be_fed(session: Any) -> None:
    with session.graph.as_default():
        c = tf.constant(4.0)
    assert session.make_callable(c)() == 4
    assert session.make_callable(c.op)() is None


def test_options_are_taken_where_that_was_said(session: Any) -> None:
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    call = session.make_callable("z:0", ["x:0", "y:0"], accept_options=True)
    np.testing.assert_array_equal(call([1], 1, options=options, run_metadata=metadata), [2])
    assert metadata.step_stats.dev_stats
    with pytest.raises(TypeError, match="RunOptions"):
        call([1], 1, options=3)
    with pytest.raises(TypeError, match="color"):
        call([1], 1, color=3)
    with pytest.raises(TypeError, match=r"no keyword arguments.*options"):
        session.make_callable("z:0", ["x:0", "y:0"])([1], 1, options=options)


def test_a_wrong_number_of_values_is_refused(session: Any) -> None:
    call = session.make_callable("z:0", ["x:0", "y:0"])
    for values in ((), ([1],), ([1], 2, 3)):
        with pytest.raises(TypeError, match=rf"2 positional arguments.*got {len(values)}"):
            call(*values)


@pytest.mark.parametrize(
    ("fetches", "feed_list", "error", "said"),
    [
        ("z:0", "x:0", TypeError, "list or tuple"),
        (5, None, TypeError, "must be a string or Tensor"),
        ("no:0", None, ValueError, "does not exist"),
        ("z:0", ["no:0"], TypeError, "Cannot interpret feed_dict key"),
    ],
    ids=repr,
)
def test_what_is_no_tensor_is_refused_at_once(
    session: Any, fetches: Any, feed_list: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        session.make_callable(fetches, feed_list)


def test_values_are_checked_as_fed_ones_are(session: Any) -> None:
    call = session.make_callable("z:0", ["x:0", "y:0"])
    with pytest.raises(ValueError, match="shape"):
        call(1.0, 1.0)
    with pytest.raises(ValueError, match="could not convert"):
        call(["text"], 1.0)


def test_a_callable_shares_its_plans_with_run(session: Any) -> None:
    session.run("z:0", {"x:0": [1], "y:0": 1})
    session.make_callable("z:0", ["x:0", "y:0"])([1], 1)
    assert len(session._backend.plans) == 1


# -- from options


@pytest.fixture
def connected() -> Any:
    """Yield a session whose placeholders `x` and `z` other tensors can be fed to."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        z = tf.placeholder(tf.float32, [], name="z")
        tf.add(x * z, 1.0, name="y")
        tf.random_normal([3, 2], name="random")
        v = tf.Variable(1.0, name="v")
        v.assign_add(1.0, name="count")
        with tf.control_dependencies([x.op]):
            tf.constant(3.0, name="after_x")
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        yield session


def test_options_name_what_is_fed_fetched_and_run(connected: Any) -> None:
    options = CallableOptions(feed=["z:0", "x:0"], fetch=["y:0", "z:0"], target=["count"])
    call = connected._make_callable_from_options(options)
    y, z = call(2.0, [[1, 2]])
    np.testing.assert_array_equal(y, [[3, 5]])
    assert z == 2 and connected.run("v:0") == 2
    options.run_options.trace_level = tf.RunOptions.FULL_TRACE
    metadata = tf.RunMetadata()
    traced = connected._make_callable_from_options(options)
    options.run_options.trace_level = tf.RunOptions.NO_TRACE  # the callable has its own
    traced(2.0, [[1, 2]], run_metadata=metadata)
    assert metadata.step_stats.dev_stats
    with pytest.raises(TypeError, match="2 positional arguments"):
        call(2.0)


def test_a_tensor_is_fed_to_another_within_one_run(connected: Any) -> None:
    options = CallableOptions(feed=["z:0"], fetch=["random:0", "y:0", "x:0", "after_x:0"])
    options.tensor_connection.add(from_tensor="random:0", to_tensor="x:0")
    call = connected._make_callable_from_options(options)
    for factor in (2.0, 3.0):
        random, y, x, after = call(factor)
        np.testing.assert_array_equal(x, random)
        np.testing.assert_allclose(y, random * factor + 1, rtol=1e-6)
        assert after == 3
    assert not np.array_equal(call(3.0)[0], random)


def test_what_is_fed_and_variables_are_fed_to_others(connected: Any) -> None:
    options = CallableOptions(feed=["random:0"], fetch=["y:0"])
    options.tensor_connection.add(from_tensor="random:0", to_tensor="x:0")
    options.tensor_connection.add(from_tensor="v:0", to_tensor="z:0")
    call = connected._make_callable_from_options(options)
    np.testing.assert_array_equal(call(np.full([3, 2], 2.0))[0], np.full([3, 2], 3.0))


def refused_connection(session: Any, source: str, target: str, feed: str = "z:0") -> Any:
    options = CallableOptions(feed=[feed], fetch=["y:0"])
    options.tensor_connection.add(from_tensor=source, to_tensor=target)
    return session._make_callable_from_options(options)


def test_connections_that_do_not_fit_are_refused(connected: Any) -> None:
    with pytest.raises(ValueError, match="is fed twice"):
        refused_connection(connected, "v:0", "z:0")
    with pytest.raises(TypeError, match="dtypes differ"):
        with connected.graph.as_default():
            tf.constant([[1, 2]], name="integers")
        refused_connection(connected, "integers:0", "x:0")
    with pytest.raises(KeyError, match="nowhere"):
        refused_connection(connected, "nowhere:0", "x:0")
    with pytest.raises(tf.errors.InvalidArgumentError, match="contains a cycle"):
        refused_connection(connected, "y:0", "x:0")(1.0)
    with pytest.raises(tf.errors.UnimplementedError, match="feed_devices"):
        options = CallableOptions(fetch=["y:0"], feed_devices={"x:0": "/gpu:0"})
        connected._make_callable_from_options(options)

"""make_callable: a function of the fed values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf


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
        with pytest.raises(TypeError, match=rf"2 positional arguments.*{len(values)} came"):
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

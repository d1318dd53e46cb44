"""Checks of ranks, sizes and dtypes: at once where they are known, else in the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

Invalid = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def known(*sizes: Any) -> Any:
    return tf.placeholder(tf.float32, list(sizes), name="X")


def unknown() -> Any:
    return tf.placeholder(tf.float32, name="U")


RANKS: dict[str, tuple[Any, list[int], str]] = {
    "assert_rank": (lambda x: tf.assert_rank(x, 2), [2], "rank 2"),
    "assert_rank_at_least": (lambda x: tf.assert_rank_at_least(x, 2), [2, 3], "rank at least 2"),
    "assert_rank_in": (lambda x: tf.assert_rank_in(x, (1, 2)), [1, 2], "rank in (1, 2)"),
}


@pytest.mark.parametrize("name", RANKS)
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_ranks(name: str, rank: int) -> None:
    check, good, words = RANKS[name]
    x, u = known(*[2] * rank), unknown()
    in_run = check(u)
    with tf.Session() as session:
        if rank in good:
            assert check(x).name.endswith("/static_checks_determined_all_ok")
            assert session.run(in_run, {u: np.zeros([2] * rank)}) is None
            return
        with pytest.raises(ValueError) as caught:
            check(x)
        shape = str(x.shape)
        assert str(caught.value) == (
            f"Tensor X:0 must have {words}.  Received rank {rank}, shape {shape}"
        )
        with pytest.raises(Invalid, match=r"Tensor U:0 must have rank.*Received shape: \]"):
            session.run(in_run, {u: np.zeros([2] * rank)})


def test_a_rank_may_come_in_the_run() -> None:
    u, rank = unknown(), tf.placeholder(tf.int32)
    check = tf.assert_rank(u, rank, message="m")
    either = tf.assert_rank_in(u, [rank, 3])
    with tf.Session() as session:
        feeds = {u: np.zeros((2, 2)), rank: 2}
        session.run([check, either], feeds)
        with pytest.raises(Invalid, match=r"\[m\.  \] \[Tensor U:0 must have rank\] \[1\]"):
            session.run(check, {**feeds, rank: 1})
        with pytest.raises(Invalid, match=r"Rank must be a scalar\. Received rank: "):
            session.run(check, {**feeds, rank: [2]})
        with pytest.raises(Invalid, match="must have rank in"):
            session.run(either, {**feeds, rank: 1})


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: tf.assert_rank(known(1), [1]), ValueError, "Rank must be a scalar."),
        (lambda: tf.assert_rank(known(1), 1.5), TypeError, "must be of type <dtype: 'int32'"),
        (lambda: tf.assert_rank_in(unknown(), [[0, 2]]), ValueError, "Rank must be a scalar."),
        (lambda: tf.assert_rank(known(1), 2, message="m"), ValueError, "m.  Tensor X:0 must have"),
        (lambda: tf.assert_scalar(known(1)), ValueError, "Expected scalar shape for X:0, saw shap"),
        (lambda: tf.assert_scalar(unknown(), message="m"), ValueError, "m.  Expected scalar shape"),
        (lambda: tf.assert_integer(known()), TypeError, 'Expected "x" to be integer type.  Found:'),
        (lambda: tf.assert_type(known(), tf.int32), TypeError, "X:0 must be of type <dtype: 'int3"),
        (lambda: tf.assert_proper_iterable("ab"), TypeError, '"values" to be a "proper" iterable'),
        (lambda: tf.assert_proper_iterable(5), TypeError, '"values" to be iterable'),
        (lambda: tf.assert_proper_iterable(known()), TypeError, '"proper" iterable'),
        (lambda: tf.assert_proper_iterable(np.zeros(2)), TypeError, '"proper" iterable'),
    ],
)
def test_what_is_refused_at_once(make: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert text in str(caught.value)


def test_what_is_fine_at_once(graph: Any) -> None:
    x = known()
    assert tf.assert_scalar(4.0).name == "assert_scalar:0"
    assert tf.assert_scalar(x) is x
    assert tf.assert_integer(5).name == "assert_integer/statically_determined_was_integer"
    assert tf.assert_type(x, tf.float32).name == "assert_type/statically_determined_correct_type"
    assert tf.assert_proper_iterable([1]) is None
    assert tf.assert_proper_iterable({"a": 1}) is None
    assert tf.is_numeric_tensor(x)
    assert not tf.is_numeric_tensor(tf.placeholder(tf.string))
    assert not tf.is_numeric_tensor(5)


def test_float_dtypes_are_the_same() -> None:
    same = tf.debugging.assert_same_float_dtype
    x = known()
    assert same() is tf.float32
    assert same([x, None, unknown()]) is tf.float32
    assert same([], tf.float64) is tf.float64
    with pytest.raises(ValueError, match=r"must be of the same type \(<dtype: 'float32'>\) as X:0"):
        same([x, tf.placeholder(tf.float64)])
    with pytest.raises(ValueError, match="must be of the same type"):
        same([x], tf.float64)
    with pytest.raises(ValueError, match="Expected floating point type, got"):
        same([tf.constant(1)])


# -- shapes

shapes = tf.debugging.assert_shapes


def test_sizes_of_one_name_are_the_same() -> None:
    check = shapes([(known(5, 3), "NQ"), (known(3, 5), ("Q", "N")), (known(None, 2), ".2")])
    with tf.Session() as session:
        assert session.run(check, {}) is None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda x: [(x, "NQ"), (known(4, 3), ("N", 3))],
            "Specified by tensor X:0 dimension 0.  Tensor X_1:0 dimension 0 must have size 5.  "
            "Received size 4, shape (4, 3)",
        ),
        (lambda x: [(x, (5, 2))], "Specified explicitly.  Tensor X:0 dimension 1 must have size 2"),
        (lambda x: [(x, (..., 4))], "Tensor X:0 dimension -1 must have size 4."),
        (lambda x: [(x, ("N",))], "Tensor X:0 must have rank in (0, 1).  Received rank 2"),
        (lambda x: {x: "abc"}, "Tensor X:0 must have rank 3."),
        (lambda x: [(x, (4, ...))], "is only allowed as the first entry"),
        (lambda x: [(x, 5)], "Specified shape must be an iterable."),
    ],
)
def test_known_sizes_are_compared_at_once(make: Any, text: str) -> None:
    x = known(5, 3)
    with pytest.raises(ValueError) as caught:
        shapes(make(x), message="m")
    assert text in str(caught.value)


def test_other_sizes_are_compared_in_the_run() -> None:
    x, u = known(None), unknown()
    check = shapes([(x, ("N",)), (u, ("N", 3))])
    last = shapes([(x, "N"), (u, ("*", "N"))])
    with tf.Session() as session:
        assert session.run(check, {x: [1, 2], u: np.zeros((2, 3))}) is None
        with pytest.raises(Invalid, match=r"Specified by tensor X:0 dimension 0\] \[Tensor U:0"):
            session.run(check, {x: [1, 2], u: np.zeros((4, 3))})
        with pytest.raises(Invalid, match=r"\[Specified explicitly\].*\[must have size\] \[3"):
            session.run(check, {x: [1, 2], u: np.zeros((2, 2))})
        with pytest.raises(Invalid, match="assert_shapes/"):
            session.run(check, {x: [1, 2], u: np.zeros(2)})
        assert session.run(last, {x: [1, 2], u: np.zeros((5, 4, 2))}) is None
        with pytest.raises(Invalid, match="must have size"):
            session.run(last, {x: [1, 2], u: np.zeros((5, 4, 3))})
        assert session.run(last, {x: [1], u: 7.0}) is None  # a scalar has one size, 1


# -- one shape


def test_a_shape_is_ensured() -> None:
    x = unknown()
    y = tf.ensure_shape(x, [None, 3])
    assert y.shape.as_list() == [None, 3]
    with tf.control_dependencies([tf.ensure_shape(x, [2, None])]):
        waiting = tf.constant(1.0) + 1.0
    with tf.Session() as session:
        good, bad = np.zeros((2, 3)), np.zeros((3, 2))
        assert session.run(y, {x: good}).shape == (2, 3)
        assert session.run(waiting, {x: good}) == 2.0
        for fetch in (y, waiting):
            with pytest.raises(Invalid, match=r"not compatible|EnsureShape"):
                session.run(fetch, {x: bad})
        (dx,) = tf.gradients(y * 2.0, x)
        assert session.run(dx, {x: good}).tolist() == [[2.0] * 3] * 2
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        tf.ensure_shape(known(2), [3])


def test_words_of_misfits():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(np.ones((2, 1)), None)
        for wanted, text in (([3, 3, 3], r"\[3,3,3\]"), ([None, 3], r"\[\?,3\]")):
            message = rf"\[2,1\] is not compatible with expected shape {text}"
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(tf.ensure_shape(x, wanted))
        with pytest.raises(TypeError, match="must be of type <dtype: 'int32'>"):
            tf.assert_rank(x, 0.5)
        assert session.run(tf.debugging.assert_shapes([(x, None)])) is None
        tf.while_loop(lambda i: i < 3.0, lambda i: i * 2.0, [1.0])
        with pytest.raises(ValueError, match=r"`tf\.cond\(\)` or `tf\.while_loop\(\)`\.$"):
            tf.add_check_numerics_ops()

"""Fetches: accepted values, and the structure of the result."""

from __future__ import annotations

import collections
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.session import register_session_run_conversion_functions

Pair = namedtuple("Pair", "first second")
Other = namedtuple("Other", "left right")


class Attribute:
    """A field of an attrs class."""

    def __init__(self, name: str) -> None:
        self.name = name


class Losses:
    """The parts of an attrs class that a session inspects."""

    __attrs_attrs__ = (Attribute("total"), Attribute("parts"))

    def __init__(self, total: Any, parts: Any) -> None:
        self.total = total
        self.parts = parts


class VariableLike:
    """Stands for a tensor, as a variable does."""

    def __init__(self, tensor: tf.Tensor) -> None:
        self.tensor = tensor

    def _as_graph_element(self) -> tf.Tensor:
        return self.tensor


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="a")
        tf.constant(3, name="b")
        tf.no_op(name="nothing")
    with tf.Session(graph=graph) as session:
        yield session


def test_leaves_are_tensors_operations_names_and_what_stands_for_a_tensor(session: Any) -> None:
    a = session.graph.get_tensor_by_name("a:0")
    np.testing.assert_array_equal(session.run(a), [1, 2])
    np.testing.assert_array_equal(session.run("a:0"), [1, 2])
    np.testing.assert_array_equal(session.run(VariableLike(a)), [1, 2])
    assert session.run("nothing") is None
    assert session.run(session.graph.get_operation_by_name("a")) is None


def test_an_answer_has_numpy_s_types(session: Any) -> None:
    a, b = session.run(["a:0", "b:0"])
    assert type(a) is np.ndarray and a.dtype == np.float32
    assert type(b) is np.int32 and b == 3


@pytest.mark.parametrize(
    ("fetches", "answer"),
    [
        ([], []),
        ((), ()),
        ({}, {}),
        (["b:0"], [3]),
        (("b:0", ["b:0", ()], "nothing"), (3, [3, ()], None)),
        ({"x": "b:0", "y": {"z": ["nothing", "b:0"]}}, {"x": 3, "y": {"z": [None, 3]}}),
        (Pair("b:0", ["b:0"]), Pair(3, [3])),
        (OrderedDict([("z", "b:0"), ("a", "nothing")]), OrderedDict([("z", 3), ("a", None)])),
    ],
    ids=repr,
)
def test_the_answer_has_the_structure_of_the_fetches(
    session: Any, fetches: Any, answer: Any
) -> None:
    for _ in range(2):  # the second time, it may be remembered
        got = session.run(fetches)
        assert got == answer
        assert type(got) is type(answer)


def test_named_tuples_that_look_alike_keep_their_types(session: Any) -> None:
    assert type(session.run(Pair("b:0", "b:0"))) is Pair
    assert type(session.run(Other("b:0", "b:0"))) is Other
    assert type(session.run(("b:0", "b:0"))) is tuple
    assert type(session.run(["b:0", Pair("b:0", "b:0")])[1]) is Pair
    assert type(session.run(["b:0", Other("b:0", "b:0")])[1]) is Other


def test_an_attrs_class_comes_back_as_one(session: Any) -> None:
    got = session.run(Losses("b:0", ["b:0", "nothing"]))
    assert type(got) is Losses
    assert (got.total, got.parts) == (3, [3, None])


LEAVES = st.sampled_from(["a:0", "b:0", "nothing"])
STRUCTURES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=8,
)


@given(STRUCTURES)
def test_any_structure_comes_back_with_its_leaves_replaced(fetches: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.constant(7.0, name="a")
        tf.constant(3, name="b")
        tf.no_op(name="nothing")
        _check_structure(session, fetches)


def _check_structure(session: tf.Session, fetches: Any) -> None:
    values = {"a:0": 7.0, "b:0": 3, "nothing": None}

    def expected(fetch: Any) -> Any:
        if isinstance(fetch, str):
            return values[fetch]
        if isinstance(fetch, dict):
            return {key: expected(item) for key, item in fetch.items()}
        parts = [expected(item) for item in fetch]
        return Pair(*parts) if isinstance(fetch, Pair) else type(fetch)(parts)

    got = session.run(fetches)
    assert got == expected(fetches)
    if not isinstance(fetches, str):
        assert type(got) is type(fetches)


def test_what_is_fetched_twice_is_computed_once_and_is_one_object() -> None:
    with tf.Graph().as_default() as graph:
        drawn = tf.random_uniform([4])
    with tf.Session(graph=graph) as session:
        first, inner, named = session.run([drawn, {"again": drawn}, drawn.name])
        assert first is inner["again"] is named


def test_an_answer_is_the_user_s_own(session: Any) -> None:
    a = session.run("a:0")
    a[:] = 0
    np.testing.assert_array_equal(session.run("a:0"), [1, 2])


@pytest.mark.parametrize(
    ("fetch", "error", "said"),
    [
        (None, TypeError, "Fetch argument None has invalid type <class 'NoneType'>"),
        (37, TypeError, "must be a string or Tensor.*int"),
        ({"b:0"}, TypeError, "must be a string or Tensor.*set"),
        (["b:0", None], TypeError, "Fetch argument None"),
        ("no:0", ValueError, "Fetch argument 'no:0' cannot be interpreted as a Tensor.*'no'"),
        ("b:1", ValueError, "only has 1 outputs"),
        ("b:x", ValueError, "<op_name>:<output_index>"),
        ("no", ValueError, "not in the graph"),
        (np.zeros(2), TypeError, "ndarray"),
    ],
    ids=repr,
)
def test_what_is_no_tensor_is_refused(
    session: Any, fetch: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        session.run(fetch)
    assert session.run("b:0") == 3


def test_a_tensor_of_another_graph_is_refused(session: Any) -> None:
    with tf.Graph().as_default():
        foreign = tf.constant(1.0, name="foreign")
    with pytest.raises(ValueError, match=r"foreign.*not an element of this graph"):
        session.run(foreign)


def test_what_may_not_be_fetched_is_refused(session: Any) -> None:
    with session.graph.as_default():
        inside = tf.constant(1.0, name="inside")
    session.graph.prevent_fetching(inside.op)
    with pytest.raises(
        tf.errors.InaccessibleTensorError,
        match=r"^Operation 'inside' has been .* not fetchable.*'inside:0'.*structures\.py:\d+",
    ):
        session.run(inside)


class Sparse:
    """A value of two tensors."""

    def __init__(self, indices: Any, values: Any) -> None:
        self.indices = indices
        self.values = values


def test_other_types_join_by_registration() -> None:
    register_session_run_conversion_functions(
        Sparse,
        lambda each: ([each.indices, each.values], lambda values: Sparse(*values)),
        lambda each, value: [(each.indices, value[0]), (each.values, value[1])],
    )
    with tf.Graph().as_default() as graph:
        given = Sparse(tf.placeholder(tf.int32, [1]), tf.placeholder(tf.float32, [1]))
        result = Sparse(given.indices + 1, given.values * 2.0)
    with tf.Session(graph=graph) as session:
        got = session.run({"out": result}, {given: ([4], [0.5])})["out"]
        assert isinstance(got, Sparse)
        np.testing.assert_array_equal(got.indices, [5])
        np.testing.assert_array_equal(got.values, [1])
    with pytest.raises(ValueError, match="already been registered"):
        register_session_run_conversion_functions(Sparse, lambda each: ([], list))


def test_mappings_of_other_classes():
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.constant(2)
        ordered = session.run(collections.OrderedDict([("b", y), ("a", y)]))
        assert type(ordered) is collections.OrderedDict and list(ordered) == ["b", "a"]
        default = session.run(collections.defaultdict(list, {"a": y}))
        assert default["a"] == 2 and default.default_factory is list
        assert session.run(collections.Counter({"a": y})) == {"a": 2}
        assert dict(session.run(collections.ChainMap({"a": y}))) == {"a": 2}

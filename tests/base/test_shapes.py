"""Shapes: known and unknown sizes, and how they combine."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpugraph.base import shapes
from gpugraph.base.misfit import misfit_of
from gpugraph.base.shapes import (
    Dimension,
    TensorShape,
    as_shape,
    broadcast_shapes,
    shape_text,
    unknown_shape,
)

UNKNOWN = TensorShape(None)
known = st.lists(st.integers(0, 4), max_size=4)
partial = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3)
any_shape = partial.map(TensorShape)


@pytest.mark.parametrize(
    ("dims", "sizes"),
    [
        (None, None),
        ([], ()),
        (3, (3,)),
        (Dimension(3), (3,)),
        (np.int64(3), (3,)),
        ([2, None], (2, None)),
        ((Dimension(2), None, np.int8(1), Dimension(None)), (2, None, 1, None)),
        (np.array([1, 2]), (1, 2)),
        (range(3), (0, 1, 2)),
        (TensorShape([2]), (2,)),
    ],
)
def test_construction(dims, sizes):
    shape = TensorShape(dims)
    assert shape.sizes == as_shape(dims).sizes == sizes
    assert sizes is None or all(size is None or type(size) is int for size in shape.sizes)
    assert TensorShape.of(sizes) == shape


@pytest.mark.parametrize(
    ("dims", "error"),
    [
        (-1, ValueError),
        ([2, -1], ValueError),
        ([2.5], ValueError),
        ("ab", TypeError),
        (b"ab", TypeError),
        (["x"], ValueError),
        ([[1], 2], TypeError),
        (object(), TypeError),
    ],
)
def test_no_shape(dims, error):
    with pytest.raises(error):
        TensorShape(dims)


def test_digits_are_sizes():
    assert TensorShape([3, 4]) == ["3", "4"]
    assert TensorShape(["3", None]).as_list() == [3, None]


def test_it_is_pickled_by_its_dimensions():
    assert TensorShape([2, 3]).__reduce__() == (TensorShape, ([Dimension(2), Dimension(3)],))


def test_known_shape():
    shape = TensorShape([2, 3])
    assert shape.rank == shape.ndims == len(shape) == 2
    assert shape.as_list() == [2, 3]
    assert [type(d) for d in shape] == [Dimension, Dimension]
    assert [d.value for d in shape.dims] == [2, 3]
    assert shape.num_elements() == 6
    assert TensorShape([]).num_elements() == 1
    assert shape.is_fully_defined()
    shape.assert_is_fully_defined()
    assert bool(TensorShape([])) is True


def test_partial_shape():
    shape = TensorShape([0, None])
    assert shape.as_list() == [0, None]
    assert shape.num_elements() is None
    assert not shape.is_fully_defined()
    with pytest.raises(ValueError, match=r"\(0, \?\) is not fully defined"):
        shape.assert_is_fully_defined()


def test_unknown_rank():
    assert UNKNOWN.rank is UNKNOWN.ndims is UNKNOWN.dims is UNKNOWN.num_elements() is None
    assert not UNKNOWN
    assert not UNKNOWN.is_fully_defined()
    for use in (len, list, TensorShape.as_list, TensorShape.assert_is_fully_defined):
        with pytest.raises(ValueError):
            use(UNKNOWN)


@pytest.mark.parametrize(
    ("dims", "text", "representation"),
    [
        (None, "<unknown>", "TensorShape(None)"),
        ([], "()", "TensorShape([])"),
        ([2], "(2,)", "TensorShape([Dimension(2)])"),
        ([2, None], "(2, ?)", "TensorShape([Dimension(2), Dimension(None)])"),
    ],
)
def test_text(dims, text, representation):
    assert str(TensorShape(dims)) == text
    assert repr(TensorShape(dims)) == representation


def test_indexing():
    shape = TensorShape([2, None, 4])
    assert isinstance(shape[0], Dimension)
    assert shape[0] == 2
    assert shape[-1] == shape[Dimension(2)] == shape[np.int64(2)] == 4
    assert shape[1].value is None
    assert shape[1:].sizes == (None, 4)
    assert shape[::-1].sizes == (4, None, 2)
    assert shape[: Dimension(1)].sizes == (2,)
    assert shapes.dimension_at_index(shape, 0) == 2
    with pytest.raises(IndexError):
        shape[3]
    with pytest.raises(TypeError):
        shape["a"]


def test_indexing_unknown_rank():
    assert UNKNOWN[0].value is UNKNOWN[-1].value is None
    assert UNKNOWN[:2].sizes == UNKNOWN[1:3].sizes == (None, None)
    assert UNKNOWN[2:1].sizes == ()
    for key in (slice(None), slice(1, None), slice(None, -1), slice(-2, None), slice(-2, 3)):
        assert UNKNOWN[key].sizes is None
    with pytest.raises(ValueError):
        UNKNOWN[::2]


def test_equality():
    assert TensorShape([1, None]) == TensorShape([1, None]) == [1, None]
    assert TensorShape([1, 2]) == (1, 2)
    assert TensorShape([3]) == 3
    assert TensorShape([1]) != TensorShape([None])
    assert TensorShape([1]) != UNKNOWN
    assert TensorShape(None) == UNKNOWN
    assert (TensorShape(None) != UNKNOWN) is False
    for other in ("a", None, object(), [1, -2]):
        assert TensorShape([1, 2]) != other
    assert hash(TensorShape([1, None])) == hash(TensorShape((1, None)))


@given(any_shape)
def test_pickle(shape):
    assert pickle.loads(pickle.dumps(shape)) == shape


def test_ranks():
    shape = TensorShape([2, 3])
    assert shape.with_rank(2) is shape
    assert shape.with_rank_at_least(2) is shape.with_rank_at_most(2) is shape
    assert UNKNOWN.with_rank(2).sizes == (None, None)
    assert UNKNOWN.with_rank_at_least(2).sizes is UNKNOWN.with_rank_at_most(2).sizes is None
    shape.assert_has_rank(2)
    UNKNOWN.assert_has_rank(2)
    shape.assert_same_rank([4, 5])
    shape.assert_same_rank(None)


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("with_rank", 1, r"\(2, 3\) must have rank 1"),
        ("assert_has_rank", 1, r"\(2, 3\) must have rank 1"),
        ("with_rank_at_least", 3, r"\(2, 3\) must have rank at least 3"),
        ("with_rank_at_most", 1, r"\(2, 3\) must have rank at most 1"),
        ("assert_same_rank", [4], r"\(2, 3\) and \(4,\) must have the same rank"),
        ("assert_is_compatible_with", [4], r"\(2, 3\) and \(4,\) are incompatible"),
        ("merge_with", [4], r"\(2, 3\) and \(4,\) are not compatible"),
        ("merge_with", [2, 4], r"\(2, 3\) and \(2, 4\) are not compatible"),
    ],
)
def test_mismatch(method, argument, message):
    with pytest.raises(ValueError, match=message):
        getattr(TensorShape([2, 3]), method)(argument)


def test_compatibility():
    shape = TensorShape([2, None])
    for other in (None, [2, 3], [None, 3], [None, None], shape):
        assert shape.is_compatible_with(other)
        shape.assert_is_compatible_with(other)
    for other in ([3, 3], [2], []):
        assert not shape.is_compatible_with(other)


def merged(a, b):
    try:
        return a.merge_with(b)
    except ValueError:
        return None


@given(any_shape, any_shape)
def test_merge_laws(a, b):
    both = merged(a, b)
    assert (both is not None) == a.is_compatible_with(b) == b.is_compatible_with(a)
    assert both == merged(b, a)
    assert a.merge_with(a) == a == a.merge_with(None) == UNKNOWN.merge_with(a)
    if both is not None:
        assert both.merge_with(a) == both == both.merge_with(b)


@given(any_shape, any_shape, any_shape)
def test_merge_is_associative(a, b, c):
    ab, bc = merged(a, b), merged(b, c)
    if ab is not None and bc is not None:
        assert merged(ab, c) == merged(a, bc)


@given(any_shape, any_shape)
def test_most_specific_compatible_shape(a, b):
    common = a.most_specific_compatible_shape(b)
    assert common.is_compatible_with(a)
    assert common.is_compatible_with(b)
    assert common == b.most_specific_compatible_shape(a)
    assert a.most_specific_compatible_shape(a) == a


@given(any_shape, any_shape)
def test_concatenate(a, b):
    both = a.concatenate(b)
    assert both == a + b
    if a.sizes is None or b.sizes is None:
        assert both.sizes is None
    else:
        assert both.as_list() == a.as_list() + b.as_list()
        assert a + b.as_list() == a.as_list() + b == both


@given(known)
def test_num_elements(sizes):
    assert TensorShape(sizes).num_elements() == math.prod(sizes)


def test_constructors():
    assert unknown_shape().sizes is None
    assert unknown_shape(rank=2).sizes == unknown_shape(ndims=2).sizes == (None, None)
    assert shapes.scalar().sizes == ()
    assert shapes.vector(3).sizes == (3,)
    assert shapes.matrix(3, None).sizes == (3, None)
    shape = TensorShape([1])
    assert as_shape(shape) is shape


# Broadcasting


@given(known, known)
def test_broadcast_like_numpy(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            broadcast_shapes(TensorShape(a), TensorShape(b))
    else:
        assert broadcast_shapes(TensorShape(a), TensorShape(b)).sizes == expected


@given(st.data(), known, known)
def test_broadcast_of_partly_known_shapes_is_right(data, a, b):
    def forget(sizes):
        return TensorShape([data.draw(st.sampled_from([size, None])) for size in sizes])

    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        return
    result = broadcast_shapes(forget(a), forget(b))
    assert result.rank == len(expected)
    assert result.is_compatible_with(expected)


@given(any_shape, any_shape)
def test_broadcast_commutes(a, b):
    try:
        result = broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError):
            broadcast_shapes(b, a)
    else:
        assert result == broadcast_shapes(b, a)
    assert broadcast_shapes(a, a) == a
    assert broadcast_shapes(a, shapes.scalar()) == a


@pytest.mark.parametrize(
    ("a", "b", "sizes"),
    [
        (None, [1], None),
        ([2, 3], None, None),
        ([1], [None], (None,)),
        ([5], [None], (5,)),
        ([0], [None], (None,)),
        ([None], [None], (None,)),
        ([2, None], [1], (2, None)),
        ([4, 1, None], [None, 3], (4, None, 3)),
    ],
)
def test_broadcast_unknown(a, b, sizes):
    assert broadcast_shapes(TensorShape(a), TensorShape(b)).sizes == sizes


def test_broadcast_error_names_sizes_and_shapes():
    message = r"^Incompatible shapes for broadcasting: \(4, 2\) and \(3,\)$"
    with pytest.raises(ValueError, match=message) as caught:
        broadcast_shapes(TensorShape([4, 2]), TensorShape([3]))
    assert misfit_of(caught.value).in_graph == "Dimensions must be equal, but are 2 and 3"
    assert misfit_of(caught.value).in_run == "Incompatible shapes: [4,2] vs. [3]"


@pytest.mark.parametrize(
    ("refuse", "words"),
    [
        (lambda x: x.merge_with([2]), "Shapes must be equal rank, but are 2 and 1"),
        (
            lambda x: x.merge_with([None, 4]),
            "Dimension 1 in both shapes must be equal, but are 3 and 4. Shapes are [2,3] and "
            "[?,4].",
        ),
        (lambda x: x.with_rank(1), "Shape must be rank 1 but is rank 2"),
        (lambda x: x.with_rank_at_least(3), "Shape must be at least rank 3 but is rank 2"),
        (lambda x: x.with_rank_at_most(1), "Shape must be at most rank 1 but is rank 2"),
    ],
)
def test_what_shape_inference_says_of_a_misfit(refuse, words):
    with pytest.raises(ValueError) as caught:
        refuse(TensorShape([2, 3]))
    assert type(caught.value) is ValueError  # nothing private in a program's traceback
    assert misfit_of(caught.value).in_graph == words


def test_a_shape_as_the_runtime_writes_it():
    shapes = [TensorShape([1, 2, 3]), TensorShape([None, 4]), TensorShape([]), TensorShape(None)]
    assert [shape_text(shape) for shape in shapes] == ["[1,2,3]", "[?,4]", "[]", "<unknown>"]
    assert shape_text((2, None)) == "[2,?]"

"""Slices, `tensor[...]`, gather and scatter, masks, one_hot, unique, top_k, and gradients."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gpugraph.ops  # noqa: F401
from gpugraph.base import dtypes
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.indexing import (
    coordinate_gather_scatter as scattering,
    gather as gathering,
    one_hot_where_unique as selection,
    strided_slice as slicing,
    top_k as ranking,
)
from gpugraph.ops.segments import segment_functions

from ..evaluator import check_gradient, evaluate

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def unknown(value, shape=None):
    array = np.asarray(value)
    return placeholder(dtypes.as_dtype(array.dtype), TensorShape(shape)), array


def same(tensor, expected, feeds=None):
    value = evaluate(tensor, feeds)
    np.testing.assert_array_equal(value, expected)
    assert value.dtype == np.asarray(expected).dtype
    if feeds is None:
        assert tensor.shape.is_compatible_with(np.shape(expected))


def random(*shape):
    return np.random.default_rng(1).uniform(-1, 1, shape)


class TestSlice:
    def test_values(self):
        same(slicing.slice(X, [0, 1, 1], [1, 2, -1]), X[:1, 1:3, 1:])
        same(slicing.slice(X, [2, 0, 0], [0, 3, 4]), X[2:])
        same(slicing.slice(3.0, [], []), np.float32(3))

    def test_unknown(self):
        x, value = unknown(X)
        tensor = slicing.slice(x, [0, 1, 0], [2, 2, -1])
        assert tensor.shape.as_list() == [2, 2, None]
        same(tensor, X[:, 1:], {x: value})
        begin, feeds = unknown(np.array([1, 0, 2], np.int32), [3])
        tensor = slicing.slice(constant(X), begin, [1, 2, 2])
        assert tensor.shape.as_list() == [1, 2, 2]
        same(tensor, X[1:, :2, 2:], {begin: feeds})

    @pytest.mark.parametrize(
        ("begin", "size"), [([0, 0, 0], [3, 1, 1]), ([0, 4, 0], [1, -1, 1]), ([0, 0], [1, 1])]
    )
    def test_refused(self, begin, size):
        with pytest.raises(ValueError):
            slicing.slice(X, begin, size)

    def test_gradient(self):
        check_gradient(lambda x: slicing.slice(x, [1, 0], [2, -1]), random(3, 2), order=2)


_ENTRY = st.one_of(
    st.integers(-3, 2),
    st.builds(
        slice,
        st.none() | st.integers(-5, 5),
        st.none() | st.integers(-5, 5),
        st.none() | st.integers(1, 3) | st.integers(-3, -1),
    ),
    st.none(),
)


@st.composite
def indices(draw):
    """Return an index that NumPy and tensors should take alike, for an array of shape (3, 3, 3)."""
    entries = draw(st.lists(_ENTRY, max_size=5))
    while sum(entry is not None for entry in entries) > 3:
        entries.remove(next(entry for entry in entries if entry is not None))
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), Ellipsis)
    return tuple(entries)


class TestGetItem:
    @given(indices())
    def test_is_numpys(self, index):
        array = np.arange(27).reshape(3, 3, 3)
        expected = array[index]
        with Graph().as_default():
            x = constant(array)
            tensor = x[index]
            assert tensor.shape.as_list() == list(expected.shape)
            same(tensor, expected)
            open_shape = placeholder(dtypes.int64, TensorShape([None] * 3))[index]
            assert open_shape.shape.is_compatible_with(expected.shape)
            assert open_shape.shape.rank == expected.ndim
            weights = np.random.default_rng(0).integers(0, 9, expected.shape)
            scattered = np.zeros_like(array)
            scattered[index] = weights
            inputs = tensor.op.inputs
            masks = {key: tensor.op.attrs[key] for key in slicing.MASKS}
            back = raw_ops.StridedSliceGrad([3, 3, 3], *inputs[1:], constant(weights), **masks)
            same(back, scattered)

    def test_names(self):
        x = constant(X)
        assert [op.name for op in x[0, 1:].op.inputs[1].graph.get_operations()[-4:]] == [
            "strided_slice/stack",
            "strided_slice/stack_1",
            "strided_slice/stack_2",
            "strided_slice",
        ]

    def test_tensors_as_indices(self):
        x = constant(X)
        index, feeds = unknown(np.int32(1), [])
        tensor = x[:, index]
        assert tensor.shape.as_list() == [2, 4]
        same(tensor, X[:, 1], {index: feeds})
        same(x[:, index:], X[:, 1:], {index: feeds})
        same(x[0, index, ..., 1], X[0, 1, 1], {index: feeds})
        wide, feeds = unknown(np.int64(1), [])
        same(x[wide, index], X[1, 1], {index: 1, wide: feeds})

    def test_unknown_sizes(self):
        x, value = unknown(X, [None, 3, None])
        assert x[1:].shape.as_list() == [None, 3, None]
        assert x[:, 1:, 0].shape.as_list() == [None, 2]
        same(x[..., 1:, 0], X[..., 1:, 0], {x: value})
        whole, _ = unknown(X)
        assert whole[0].shape.rank is None
        same(whole[:, -1], X[:, -1], {whole: value})

    def test_masks(self):
        x = constant(X)
        same(x[constant(X > 5)], X[X > 5])
        same(x[X > 5], X[X > 5])

    @pytest.mark.parametrize("index", [2, -3, (0, 3), (0, 0, 0, 0), (..., ...), slice(0, 1, 0)])
    def test_refused(self, index):
        with pytest.raises(ValueError):
            constant(X)[index]

    @pytest.mark.parametrize("index", [1.0, "a", True, (0, 1.5)])
    def test_wrong_types(self, index):
        with pytest.raises(TypeError):
            constant(X)[index]
        with pytest.raises(TypeError):
            constant(X)[constant(1.0)]

    def test_gradients(self):
        for index in ((0,), (slice(None, None, -2), 1), (..., None, slice(1, 2))):
            check_gradient(lambda x, i=index: raw_ops.Square(x[i]), random(3, 2), order=2)

    def test_strided_slice(self):
        same(slicing.strided_slice(X, [0, 1], [2, 3]), X[0:2, 1:3])
        same(slicing.strided_slice(X, [0, 2], [2, 0], [1, -1]), X[0:2, 2:0:-1])
        same(slicing.strided_slice(X, [1], [9], shrink_axis_mask=1), X[1])


class TestGather:
    @pytest.mark.parametrize("axis", [0, 1, -1])
    @pytest.mark.parametrize("indices", [1, [1, 0, 1], [[0, 1], [1, 1]], np.zeros((0,), np.int64)])
    def test_values(self, axis, indices):
        tensor = gathering.gather(X, indices, axis=axis)
        same(tensor, np.take(X, np.asarray(indices, np.int64), axis))
        assert tensor.op.name == "GatherV2"

    def test_batch_dims(self):
        indices = np.array([[2, 0], [1, 1]])
        same(
            gathering.gather(X, indices, batch_dims=1),
            np.take_along_axis(X, indices[:, :, None], 1),
        )
        same(
            gathering.gather(X, indices, axis=2, batch_dims=1),
            np.stack([np.take(X[i], indices[i], 1) for i in range(2)]),
        )

    def test_unknown(self):
        x, value = unknown(X, [None, 3, 4])
        indices, where = unknown(np.array([1, 1]), [None])
        tensor = gathering.gather(x, indices)
        assert tensor.shape.as_list() == [None, 3, 4]
        same(tensor, X[[1, 1]], {x: value, indices: where})

    def test_strings(self):
        words = constant(["a", "b"])
        same(gathering.gather(words, [1, 0]), np.array([b"b", b"a"], object))

    @pytest.mark.parametrize("indices", [[0, 2], [-1]])
    def test_outside(self, indices):
        with pytest.raises(InvalidArgumentError, match=r"indices\[\d\] = .* is not in \[0, 2\)"):
            evaluate(gathering.gather(X, indices))

    def test_refused(self):
        for params, axis in ((1.0, 0), (X, 3)):
            with pytest.raises(ValueError):
                gathering.gather(params, [0], axis=axis)

    @pytest.mark.parametrize(
        ("indices", "axis", "batch"),
        [([1, 1, 0], 0, 0), ([[0, 2], [2, 1]], 1, 0), (1, 1, 0), ([[1, 1], [0, 2]], 1, 1),
         ([[1, 1], [0, 1]], 2, 1), ([0, 1, 1], -1, 0)],
    )  # fmt: skip
    def test_gradient(self, indices, axis, batch):
        check_gradient(
            lambda x: raw_ops.Square(gathering.gather(x, indices, axis=axis, batch_dims=batch)),
            random(2, 3, 2),
            order=2,
        )


class TestCoordinates:
    @pytest.mark.parametrize(
        "indices", [[[0], [1]], [[0, 1], [1, 2]], [[[0, 1, 2]]], np.zeros((2, 0), np.int32)]
    )
    def test_gather_nd(self, indices):
        array = np.asarray(indices)
        expected = np.stack(
            [X[tuple(array[place].astype(int))] for place in np.ndindex(array.shape[:-1])]
        ).reshape(array.shape[:-1] + X.shape[array.shape[-1] :])
        same(scattering.gather_nd(X, indices), expected)

    def test_outside(self):
        with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = \[0, 3\]"):
            evaluate(scattering.gather_nd(X, [[0, 0], [0, 3]]))
        with pytest.raises(ValueError):
            scattering.gather_nd(X, [[0, 0, 0, 0]])

    @pytest.mark.parametrize("width", [0, 1, 3, 300])
    def test_scatter_nd(self, width):
        updates = random(4, width)
        expected = np.zeros((5, width))
        for row, row_index in zip(updates, (4, 1, 4, 4), strict=True):
            expected[row_index] += row
        same(scattering.scatter_nd([[4], [1], [4], [4]], updates, [5, width]), expected)

    def test_scatter_refused(self):
        for indices, updates in (([[0]], [1.0, 2.0]), ([[0, 0]], [1.0])):
            with pytest.raises(ValueError):
                scattering.scatter_nd(indices, updates, [3])
        with pytest.raises(InvalidArgumentError):
            evaluate(scattering.scatter_nd([[3]], [1.0], [3]))

    def test_gradients(self):
        indices = [[0, 1], [2, 0], [0, 1]]
        check_gradient(lambda x: scattering.gather_nd(x, indices), random(3, 2, 2), order=2)
        check_gradient(lambda u: scattering.scatter_nd(indices, u, [3, 2]), random(3), order=2)


class TestSegmentSum:
    @pytest.mark.parametrize("ids", [[0, 2], [[1, 1, 0], [2, -1, 1]], 1])
    def test_values(self, ids):
        tensor = segment_functions.unsorted_segment_sum(X, ids, 3)
        array = np.asarray(ids)
        rows = X.reshape((-1, *X.shape[array.ndim :]))
        expected = np.zeros((3, *X.shape[array.ndim :]), np.float32)
        for row, segment in zip(rows, array.reshape(-1), strict=True):
            if segment >= 0:
                expected[segment] += row
        same(tensor, expected)

    def test_many_rows(self):
        ids = np.random.default_rng(0).integers(0, 50, 5000)
        rows = np.random.default_rng(1).integers(-9, 9, (5000, 20))
        expected = np.zeros((50, 20), np.int64)
        np.add.at(expected, ids, rows)
        same(segment_functions.unsorted_segment_sum(rows, ids, 50), expected)

    def test_outside(self):
        with pytest.raises(InvalidArgumentError, match=r"segment_ids\[1\] = 3"):
            evaluate(segment_functions.unsorted_segment_sum([1.0, 2.0], [0, 3], 3))
        with pytest.raises(ValueError):
            segment_functions.unsorted_segment_sum(X, [0, 1, 2], 3)

    def test_gradient(self):
        check_gradient(
            lambda x: segment_functions.unsorted_segment_sum(x, [0, -1, 1, 0], 2),
            random(4, 2),
            order=2,
        )
        check_gradient(
            lambda x: segment_functions.unsorted_segment_sum(x, [[0, 2], [1, 0]], 3),
            random(2, 2, 2),
            order=2,
        )


class TestMask:
    def test_values(self):
        same(gathering.boolean_mask(X, [True, False]), X[:1])
        same(gathering.boolean_mask(X, X > 7), X[X > 7])
        same(gathering.boolean_mask(X, [True, False, True], axis=1), X[:, [0, 2]])
        assert gathering.boolean_mask(constant(X), X[:, :, 0] > 5).shape.as_list() == [None, 4]

    def test_unknown(self):
        x, value = unknown(X)
        mask, chosen = unknown(X[:, :, 0] > 5, [None, None])
        same(gathering.boolean_mask(x, mask), X[X[:, :, 0] > 5], {x: value, mask: chosen})

    def test_refused(self):
        with pytest.raises(ValueError, match="scalar"):
            gathering.boolean_mask(X, True)
        with pytest.raises(ValueError):
            gathering.boolean_mask(X, [True, False, True])
        with pytest.raises(ValueError):
            gathering.boolean_mask(X, unknown(np.array([True]))[0])

    def test_gradient(self):
        mask = np.array([[True, False], [True, True]])
        check_gradient(lambda x: gathering.boolean_mask(x, mask), random(2, 2, 2), order=2)


class TestPositions:
    @pytest.mark.parametrize("axis", [None, 0, 1])
    def test_one_hot(self, axis):
        indices = np.array([[0, 2], [5, -1]])
        hot = (indices[..., None] == np.arange(3)).astype(np.float32)
        expected = hot if axis is None else np.moveaxis(hot, -1, axis)
        same(selection.one_hot(indices, 3, axis=axis), expected)

    def test_one_hot_values(self):
        same(selection.one_hot([1], 2, 5, -1, dtype=dtypes.int32), np.array([[-1, 5]], np.int32))
        same(selection.one_hot([1], 2, True, False), np.array([[False, True]]))
        same(selection.one_hot([1], 2, dtype=dtypes.bool), np.array([[False, True]]))
        assert selection.one_hot([1], 2).op.name == "one_hot_3"
        with pytest.raises(TypeError):
            selection.one_hot([1], 2, constant(1), 0.0, dtype=dtypes.float32)
        with pytest.raises(ValueError):
            selection.one_hot([1], -1)

    def test_where(self):
        same(raw_ops.Where(X > 20), np.argwhere(X > 20))
        same(raw_ops.Where(constant(True)), np.zeros((1, 0), np.int64))
        same(raw_ops.Where(constant(0.0)), np.zeros((0, 0), np.int64))
        assert raw_ops.Where(constant(X)).shape.as_list() == [None, 3]

    def test_unique(self):
        y, idx = selection.unique([3, 1, 3, 2, 1])
        same(y, np.array([3, 1, 2], np.int32))
        same(idx, np.array([0, 1, 0, 2, 1], np.int32))
        words = selection.unique(constant(["b", "a", "b"]), out_idx=dtypes.int64)
        same(words.y, np.array([b"b", b"a"], object))
        same(words.idx, np.array([0, 1, 0]))
        same(selection.unique(np.zeros(0, np.float32))[0], np.zeros(0, np.float32))
        with pytest.raises(ValueError):
            selection.unique(X)

    def test_dynamic_stitch(self):
        tensor = selection.dynamic_stitch([[0, 2], 1, [2]], [X[0, :2], X[0, 2], X[1, :1]])
        same(tensor, np.stack([X[0, 0], X[0, 2], X[1, 0]]))
        assert tensor.shape.as_list() == [3, 4]
        with pytest.raises(ValueError):
            selection.dynamic_stitch([[0, 1]], [X[0]])
        check_gradient(
            lambda x, y: selection.dynamic_stitch([[0, 2], [1]], [x, y]),
            random(2, 2),
            random(1, 2),
            order=2,
        )

    def test_lin_space(self):
        tensor = selection.linspace(constant(1.0), 2.0, 5)
        same(tensor, np.linspace(1, 2, 5, dtype=np.float32))
        same(selection.lin_space(3.0, 9.0, 1), np.array([3], np.float32))
        with pytest.raises(ValueError):
            selection.linspace(1.0, 2.0, 0)


class TestTopK:
    def test_values(self):
        x = np.array([[1, 3, 3, 2], [4, 0, 4, 4]], np.int32)
        values, indices = ranking.top_k(x, 3)
        same(values, np.array([[3, 3, 2], [4, 4, 4]], np.int32))
        same(indices, np.array([[1, 2, 3], [0, 2, 3]], np.int32))
        same(ranking.top_k(x).indices, np.array([[1], [0]], np.int32))
        same(ranking.top_k(x, 0).values, np.zeros((2, 0), np.int32))

    def test_refused(self):
        for x, k in ((1.0, 1), ([1.0], 2), ([1.0], -1)):
            with pytest.raises(ValueError):
                ranking.top_k(x, k)

    def test_gradient(self):
        check_gradient(lambda x: raw_ops.Square(ranking.top_k(x, 2)[0]), random(3, 4), order=2)

    def test_in_top_k(self):
        predictions = np.array([[0.1, 0.5, 0.5], [0.9, 0.1, 0.0], [np.nan, 1, 2]], np.float32)
        same(ranking.in_top_k(predictions, [2, 1, 2], 1), np.array([True, False, False]))
        same(ranking.in_top_k(predictions, [0, 3, 2], 3), np.array([True, False, False]))


def test_entries_of_begin_may_be_tensors_without_strides():
    one, two = constant(1), constant(2)
    part = slicing.strided_slice(X, [0, one, two], [two, 3, 4])
    np.testing.assert_array_equal(evaluate(part), X[0:2, 1:3, 2:4])

"""Identities, shapes, reshape and its like, concat, stack, split, tile, pad, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.base import dtypes
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays import (
    concat_and_stack as joining,
    reshape_and_transpose as array_shapes,
    reverse as reversing,
    split_and_unstack as splitting,
    tile_and_pad as padding,
)
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework import identity_and_shape as arrays
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.indexing import one_hot_where_unique as selection

from ..evaluator import check_gradient, evaluate, gradients

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def unknown(value, shape=None):
    """Return a placeholder of static shape `shape`, and its feed."""
    array = np.asarray(value)
    return placeholder(dtypes.as_dtype(array.dtype), TensorShape(shape)), array


def same(tensor, expected, feeds=None):
    """The tensor's value, and its static shape where nothing was unknown."""
    value = evaluate(tensor, feeds)
    np.testing.assert_array_equal(value, expected)
    assert value.dtype == np.asarray(expected).dtype
    if feeds is None:
        assert tensor.shape.as_list() == list(np.shape(expected))


def random(*shape):
    return np.random.default_rng(1).uniform(-1, 1, shape)


class TestIdentity:
    def test_values(self):
        for function in (arrays.identity, arrays.stop_gradient, arrays.prevent_gradient):
            same(function(X), X)

    def test_names_and_types(self):
        assert arrays.identity([1, 2]).op.type == "Identity"
        assert arrays.identity(1.0, name="a").op.name == "a"

    def test_gradients(self):
        check_gradient(lambda x: arrays.identity(x), random(2), order=2)
        x = constant([1.0, 2.0])
        assert gradients(arrays.stop_gradient(x), [x]) == [None]
        with pytest.raises(LookupError, match="because"):
            gradients(arrays.prevent_gradient(x, "because"), [x])

    def test_strings(self):
        same(arrays.identity(constant(["a", "b"])), np.array([b"a", b"b"], object))


class TestShape:
    def test_known_shapes_are_constants(self):
        x = constant(X)
        for output, expected in (
            (arrays.shape(x), [2, 3, 4]),
            (arrays.size(x), 24),
            (arrays.rank(x), 3),
            (arrays.shape(1.0), np.zeros(0)),
        ):
            assert output.op.type == "Const"
            same(output, np.array(expected, np.int32))

    def test_ops(self):
        x, value = unknown(X)
        feeds = {x: value}
        same(arrays.shape(x), np.array([2, 3, 4], np.int32), feeds)
        same(arrays.shape(x, out_type=dtypes.int64), np.array([2, 3, 4], np.int64), feeds)
        same(arrays.size(x), np.int32(24), feeds)
        same(arrays.rank(x), np.int32(3), feeds)
        assert arrays.shape(x).op.type == "Shape"
        assert arrays.shape(constant(X), optimize=False).op.type == "Shape"

    def test_shape_n(self):
        output = arrays.shape_n([constant(X), constant(X[0])])
        assert [tensor.op.type for tensor in output] == ["ShapeN"] * 2
        for value, expected in zip(evaluate(output), ([2, 3, 4], [3, 4]), strict=True):
            np.testing.assert_array_equal(value, expected)


class TestReshape:
    @pytest.mark.parametrize("shape", [[6, 4], [-1], [2, -1, 2], [24, 1], (4, 6)])
    def test_values(self, shape):
        same(array_shapes.reshape(X, shape), X.reshape(shape))

    def test_to_scalar_and_empty(self):
        same(array_shapes.reshape([5.0], []), np.float32(5))
        same(array_shapes.reshape(np.zeros((0, 3)), [3, -1]), np.zeros((3, 0)))

    def test_unknown(self):
        x, value = unknown(X, [None, 3, 4])
        output = array_shapes.reshape(x, [-1, 12])
        assert output.shape.as_list() == [None, 12]
        same(output, X.reshape(2, 12), {x: value})

    def test_shape_of_mixed_sizes(self):
        x, value = unknown(X, [None, 3, 4])
        output = array_shapes.reshape(x, [arrays.shape(x)[0], 12])
        assert output.shape.as_list() == [None, 12]
        same(output, X.reshape(2, 12), {x: value})

    def test_open_size_follows_from_the_count(self):
        size, value = unknown(np.int32(6), [])
        output = array_shapes.reshape(constant(X), joining.stack([size, 4]))
        assert output.shape.as_list() == [6, 4]
        same(output, X.reshape(6, 4), {size: value})

    @pytest.mark.parametrize("shape", [[5, 5], [-1, 5], [-1, -1], [-2, 12], [0, -1]])
    def test_refused(self, shape):
        with pytest.raises(ValueError):
            array_shapes.reshape(X, shape)

    def test_gradient(self):
        check_gradient(lambda x: array_shapes.reshape(x, [3, 2]), random(2, 3), order=2)


class TestExpandAndSqueeze:
    @pytest.mark.parametrize("axis", [0, 1, 3, -1, -4])
    def test_expand(self, axis):
        same(array_shapes.expand_dims(X, axis), np.expand_dims(X, axis))

    def test_expand_names(self):
        same(array_shapes.expand_dims(X, dim=0), X[None])
        with pytest.raises(ValueError):
            array_shapes.expand_dims(X)
        with pytest.raises(ValueError):
            array_shapes.expand_dims(X, 0, dim=0)
        with pytest.raises(ValueError, match=r"dim 4 not in the interval \[-4, 3\]"):
            array_shapes.expand_dims(X, 4)

    def test_squeeze(self):
        x = np.zeros((1, 3, 1, 2))
        same(array_shapes.squeeze(x), x.squeeze())
        same(array_shapes.squeeze(x, 2), x.squeeze(2))
        same(array_shapes.squeeze(x, [0, -2]), x.squeeze((0, 2)))
        same(array_shapes.squeeze(x, squeeze_dims=[0]), x.squeeze(0))
        with pytest.raises(ValueError, match=r"squeeze dim\[1\]"):
            array_shapes.squeeze(x, 1)
        unsized, _ = unknown(x, [None, 1])
        assert array_shapes.squeeze(unsized).shape.rank is None
        assert array_shapes.squeeze(unsized, [1]).shape.as_list() == [None]

    def test_gradients(self):
        check_gradient(lambda x: array_shapes.expand_dims(x, -1), random(2, 2), order=2)
        check_gradient(lambda x: array_shapes.squeeze(x, [1]), random(2, 1), order=2)


class TestTranspose:
    @pytest.mark.parametrize("perm", [None, [0, 2, 1], [2, 0, 1], [-1, 0, 1]])
    def test_values(self, perm):
        same(array_shapes.transpose(X, perm), X.transpose(perm))

    def test_names(self):
        assert array_shapes.transpose(X).op.name == "transpose"
        assert array_shapes.transpose(X, name="t").op.name == "t"

    def test_unknown_rank(self):
        x, value = unknown(X)
        same(array_shapes.transpose(x), X.T, {x: value})
        perm, order = unknown(np.array([1, 0, 2], np.int32), [None])
        output = array_shapes.transpose(constant(X), perm)
        assert output.shape.as_list() == [None] * 3
        same(output, X.transpose(1, 0, 2), {perm: order})

    def test_conjugate(self):
        z = np.array([[1 + 2j, 3 - 1j]])
        same(array_shapes.transpose(z, conjugate=True), z.conj().T)
        same(array_shapes.transpose(X, conjugate=True), X.T)

    @pytest.mark.parametrize("perm", [[0, 1], [0, 1, 3]])
    def test_refused(self, perm):
        with pytest.raises(ValueError):
            array_shapes.transpose(X, perm)

    def test_gradient(self):
        check_gradient(lambda x: array_shapes.transpose(x, [1, 2, 0]), random(2, 1, 3), order=2)

    def test_invert_permutation(self):
        same(array_shapes.invert_permutation([2, 0, 1]), np.array([1, 2, 0], np.int32))
        for wrong in ([0, 0], [0, 2]):
            with pytest.raises(InvalidArgumentError):
                evaluate(array_shapes.invert_permutation(wrong))


class TestReverseAndBroadcast:
    @pytest.mark.parametrize("axes", [[], [0], [-1], [0, 2]])
    def test_reverse(self, axes):
        same(reversing.reverse(X, axes), np.flip(X, axes) if axes else X)

    def test_reverse_refused(self):
        for axes in ([3], [0, -3], [0, 0]):
            with pytest.raises(ValueError):
                reversing.reverse(X, axes)

    @pytest.mark.parametrize("shape", [[2, 3], [4, 2, 3], [0, 2, 3]])
    def test_broadcast_to(self, shape):
        x = random(2, 1)
        same(array_shapes.broadcast_to(x, shape), np.broadcast_to(x, shape))

    def test_broadcast_refused(self):
        for shape in ([2], [2, 3, 5], [0]):
            with pytest.raises(ValueError):
                array_shapes.broadcast_to(X, shape)

    def test_gradients(self):
        check_gradient(lambda x: reversing.reverse(x, [1]), random(2, 3), order=2)
        check_gradient(lambda x: array_shapes.broadcast_to(x, [2, 3, 2]), random(3, 1), order=2)


class TestConcat:
    @pytest.mark.parametrize("axis", [0, 1, -1, -3])
    def test_values(self, axis):
        same(joining.concat([X, X + 1, X], axis), np.concatenate([X, X + 1, X], axis))

    def test_one_value_and_names(self):
        same(joining.concat([X], 0), X)
        same(joining.concat(constant(X), 0), X)
        output = joining.concat([X, X], 0)
        assert (output.op.name, output.op.type) == ("concat_2", "ConcatV2")

    def test_unknown_sizes(self):
        x, value = unknown(X, [None, 3, 4])
        y, _ = unknown(X)
        output = joining.concat([x, y], 0)
        assert output.shape.as_list() == [None, 3, 4]
        same(output, np.concatenate([X, X]), {x: value, y: value})

    def test_partly_known_sizes_add_up(self):
        x, _ = unknown(X, [2, None])
        y, _ = unknown(X, [None, 4])
        assert joining.concat([x, y], 0).shape.as_list() == [None, 4]

    def test_refused(self):
        for values, axis in (([X, X[0]], 0), ([X, X[:, :2]], 0), ([1.0, 2.0], 0), ([X, X], 3)):
            with pytest.raises(ValueError):
                joining.concat(values, axis)
        with pytest.raises(TypeError):
            joining.concat([constant(X), constant([[[1]]])], 0)

    def test_no_tensors_are_refused(self):
        for make, says in (
            (lambda: joining.concat([], 0), "'values' to 'ConcatV2' .* minimum length 2"),
            (lambda: selection.dynamic_stitch([], []), "'indices' to 'DynamicStitch' .* length 1"),
            (lambda: raw_ops.AddN([]), "'inputs' to 'AddN' Op with length 0 shorter"),
        ):
            with pytest.raises(ValueError, match=says):
                make()

    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_gradient(self, axis):
        sizes = [(2, 3), (2, 3), (2, 3)]
        sizes[1] = (1, 3) if axis == 0 else (2, 2)
        check_gradient(
            lambda *xs: joining.concat(xs, axis), *[random(*size) for size in sizes], order=2
        )

    def test_offsets(self):
        output = raw_ops.ConcatOffset(1, [np.array([2, n], np.int32) for n in (3, 1, 4)])
        for value, start in zip(evaluate(output), (0, 3, 4), strict=True):
            np.testing.assert_array_equal(value, [0, start])


class TestStack:
    @pytest.mark.parametrize("axis", [0, 1, 3, -1, -4])
    def test_values(self, axis):
        x = constant(X)
        same(joining.stack([x, X + 1], axis), np.stack([X, X + 1], axis))

    def test_constants(self):
        assert joining.stack([1, 2]).op.type == "Const"
        same(joining.stack([X, X]), np.stack([X, X]))

    def test_names(self):
        x = constant(1.0)
        output = joining.stack([x, 2.0])
        assert (output.op.name, output.op.type) == ("stack", "Pack")
        assert output.op.inputs[1].op.name == "stack/1"

    def test_refused(self):
        x = constant(X)
        with pytest.raises(ValueError):
            joining.stack([x, X[0]])
        with pytest.raises(ValueError):
            joining.stack([x, x], 4)

    def test_gradients(self):
        for axis in (0, 1, -1):
            check_gradient(
                lambda *xs, axis=axis: joining.stack(list(xs), axis),
                random(2, 2),
                random(2, 2),
                order=2,
            )

    def test_unstack(self):
        for axis in (0, 1, -1):
            parts = splitting.unstack(X, axis=axis)
            for part, expected in zip(parts, np.moveaxis(X, axis, 0), strict=True):
                same(part, expected)
        x, value = unknown(X)
        assert len(splitting.unstack(x, num=2)) == 2
        same(splitting.unstack(x, num=2)[1], X[1], {x: value})
        with pytest.raises(ValueError, match="Cannot infer num"):
            splitting.unstack(x)
        with pytest.raises(ValueError):
            splitting.unstack(X, num=3)

    def test_unstack_gradient(self):
        def weighted(x):
            first, second = splitting.unstack(x, num=2, axis=1)
            return raw_ops.Mul(first, raw_ops.Mul(second, second))

        check_gradient(weighted, random(3, 2), order=2)
        check_gradient(lambda x: splitting.unstack(x, num=2)[1], random(2, 3), order=2)


class TestAutoPacking:
    def test_lists_with_tensors(self):
        x = constant(2.0)
        output = convert_to_tensor([[x, 1.0], [3.0, x]])
        assert output.op.type == "Pack"
        same(output, np.array([[2, 1], [3, 2]], np.float32))

    def test_scalars_take_the_tensors_dtype(self):
        x = constant(2.0, dtypes.float64)
        same(convert_to_tensor([1, x]), np.array([1.0, 2.0]))
        same(convert_to_tensor([x, 1], dtypes.float32), np.array([2, 1], np.float32))

    def test_dimensions(self):
        sizes = TensorShape([2, None])
        same(convert_to_tensor([sizes[0], 3]), np.array([2, 3], np.int32))
        same(convert_to_tensor(sizes[0]), np.int32(2))
        with pytest.raises((TypeError, ValueError)):
            convert_to_tensor([sizes[1], 3])

    def test_plain_lists_stay_constants(self):
        assert convert_to_tensor([[1, 2], [3, 4]]).op.type == "Const"


class TestSplit:
    @pytest.mark.parametrize(("count", "axis"), [(2, 0), (3, 1), (2, -1), (1, 2)])
    def test_equal_parts(self, count, axis):
        parts = splitting.split(X, count, axis)
        for part, expected in zip(parts, np.split(X, count, axis), strict=True):
            same(part, expected)

    @pytest.mark.parametrize("sizes", [[1, 2], [3], [-1, 1], [0, 3]])
    def test_sizes(self, sizes):
        parts = splitting.split(X, sizes, 1)
        lengths = [3 - sum(s for s in sizes if s > 0) if s == -1 else s for s in sizes]
        expected = np.split(X, np.cumsum(lengths)[:-1], 1)
        for part, value in zip(parts, expected, strict=True):
            same(part, value)

    def test_unknown(self):
        x, value = unknown(X, [2, None, 4])
        parts = splitting.split(x, [1, -1], 1)
        assert [part.shape.as_list() for part in parts] == [[2, 1, 4], [2, None, 4]]
        same(parts[1], X[:, 1:], {x: value})

    def test_refused(self):
        for value in (2, [1, 1], [-1, -1], [4, -1]):
            with pytest.raises(ValueError):
                splitting.split(X, value, 1)

    def test_gradients(self):
        def product(parts):
            return raw_ops.Mul(parts[0], raw_ops.Mul(parts[1], parts[1]))

        check_gradient(lambda x: product(splitting.split(x, 2, 1)), random(2, 4), order=2)
        check_gradient(lambda x: product(splitting.split(x, [2, 2, 1], 0)), random(5), order=2)


class TestTileAndPad:
    @pytest.mark.parametrize("multiples", [[1, 1, 1], [2, 1, 3], [0, 2, 1]])
    def test_tile(self, multiples):
        same(padding.tile(X, multiples), np.tile(X, multiples))

    def test_tile_more(self):
        same(padding.tile(constant(3.0), []), np.float32(3))
        times, value = unknown(np.array([2, 1, 1], np.int32))
        same(padding.tile(X, times), np.tile(X, [2, 1, 1]), {times: value})
        with pytest.raises(ValueError):
            padding.tile(X, [1, 2])

    def test_tile_gradient(self):
        check_gradient(lambda x: padding.tile(x, [2, 3]), random(2, 1), order=2)

    @pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "symmetric"])
    def test_pad(self, mode):
        paddings = [[1, 1], [0, 2], [2, 0]]
        same(padding.pad(X, paddings, mode), np.pad(X, paddings, mode.lower()))

    def test_pad_values(self):
        paddings = [[1, 0], [0, 1], [0, 0]]
        output = padding.pad(X, paddings, constant_values=7)
        assert output.op.type == "PadV2"
        same(output, np.pad(X, paddings, constant_values=7))
        assert padding.pad(X, paddings).op.type == "Pad"

    def test_empty(self):
        empty = np.zeros((0, 2))
        same(padding.pad(empty, [[1, 1], [0, 1]]), np.zeros((2, 3)))
        same(padding.pad(empty, [[0, 0], [1, 1]], "REFLECT"), np.zeros((0, 4)))

    def test_refused(self):
        for paddings, mode in (
            ([[1, 1]], "CONSTANT"),
            ([[1, 1, 1]] * 3, "CONSTANT"),
            ([[-1, 1]] * 3, "CONSTANT"),
            ([[2, 0], [0, 0], [0, 0]], "REFLECT"),
            ([[3, 0], [0, 0], [0, 0]], "SYMMETRIC"),
            ([[0, 0]] * 3, "EDGE"),
        ):
            with pytest.raises((ValueError, InvalidArgumentError)):
                evaluate(padding.pad(X, paddings, mode))

    @pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "SYMMETRIC"])
    def test_pad_gradients(self, mode):
        check_gradient(lambda x: padding.pad(x, [[1, 2], [2, 1]], mode), random(3, 3), order=2)

    def test_pad_v2_gradient(self):
        check_gradient(
            lambda x: padding.pad(x, [[1, 2]], constant_values=constant(2.0, dtypes.float64)),
            random(3),
            order=2,
        )

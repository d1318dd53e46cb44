"""Sparse tensors: making, feeding and fetching them, operations on them, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

INDICES = np.array([[0, 1], [1, 0], [1, 2], [3, 2]], np.int64)
VALUES = np.array([1.0, -2.0, 3.0, 4.0])
SHAPE = np.array([4, 3], np.int64)
DENSE = np.array([[0.0, 1, 0], [-2, 0, 3], [0, 0, 0], [0, 0, 4]])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def sparse(values=VALUES, indices=INDICES):
    return tf.SparseTensor(indices, values, SHAPE)


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def dense(source):
    value = run(source)
    out = np.zeros(value.dense_shape, value.values.dtype)
    np.add.at(out, tuple(value.indices.T), value.values if out.ndim else value.values.sum())
    return out


class TestSparseTensor:
    def test_parts(self):
        tensor = sparse()
        assert [tensor.indices.name, tensor.dense_shape.name] == [
            "SparseTensor/indices:0",
            "SparseTensor/dense_shape:0",
        ]
        assert tensor.shape.as_list() == [4, 3]
        assert tensor.dtype is tf.float64
        assert tensor.op is tensor.values.op
        assert str(tensor).startswith("SparseTensor(indices=")

    def test_fetching_gives_the_values(self):
        value = run({"it": sparse()})["it"]
        assert type(value) is tf.SparseTensorValue
        np.testing.assert_array_equal(value.indices, INDICES)
        np.testing.assert_array_equal(value.values, VALUES)
        with tf.Session().as_default():
            assert sparse().eval().values.tolist() == VALUES.tolist()

    @pytest.mark.parametrize("shape", [None, [None, 3], [4, 3]])
    def test_placeholders_are_fed_values_and_tuples(self, shape):
        fed = tf.sparse_placeholder(tf.float32, shape, name="s")
        assert [part.name for part in (fed.indices, fed.values, fed.dense_shape)] == [
            "s/indices:0",
            "s/values:0",
            "s/shape:0",
        ]
        whole = tf.sparse_tensor_to_dense(fed)
        for value in (tf.SparseTensorValue(INDICES, VALUES, SHAPE), (INDICES, VALUES, SHAPE)):
            result, again = run([whole, fed], {fed: value})
            np.testing.assert_array_equal(result, DENSE)
            np.testing.assert_array_equal(again.dense_shape, SHAPE)

    def test_known_shape_of_a_placeholder(self):
        assert tf.sparse_placeholder(tf.int32, [None, 3]).shape.as_list() == [None, 3]
        assert tf.sparse_placeholder(tf.int32).shape.rank is None
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.sparse_placeholder(tf.int32, [2, 3]).values)

    def test_what_is_fetched_may_be_fed(self):
        source = sparse()
        doubled = source * 2.0
        values = run(doubled.values, {source: tf.SparseTensorValue(INDICES, VALUES + 1, SHAPE)})
        np.testing.assert_array_equal(values, VALUES * 2 + 2)

    def test_parts_that_contradict_each_other(self):
        for parts in (([1], [1], [1]), ([[1]], [1, 2], [1]), ([[1]], [1], [1, 2])):
            with pytest.raises(ValueError):
                tf.SparseTensor(*parts)

    def test_conversion(self):
        value = tf.SparseTensorValue(INDICES, VALUES, SHAPE)
        assert isinstance(tf.convert_to_tensor_or_sparse_tensor(value), tf.SparseTensor)
        assert isinstance(tf.convert_to_tensor_or_sparse_tensor([1, 2]), tf.Tensor)
        with pytest.raises(RuntimeError, match="requested = int32"):
            tf.convert_to_tensor_or_sparse_tensor(value, tf.int32)

    def test_nothing_else_is_sparse(self):
        with pytest.raises(TypeError, match="SparseTensor"):
            tf.sparse_reorder(tf.constant(DENSE))
        with pytest.raises(TypeError):
            sparse() + 1.0


class TestDense:
    def test_there_and_back(self):
        np.testing.assert_array_equal(run(tf.sparse_tensor_to_dense(sparse())), DENSE)
        back = run(tf.sparse.from_dense(DENSE))
        np.testing.assert_array_equal(back.indices, INDICES)
        np.testing.assert_array_equal(back.values, VALUES)

    def test_strings(self):
        tensor = tf.SparseTensor([[1]], ["a"], [3])
        assert run(tf.sparse_tensor_to_dense(tensor)).tolist() == [b"", b"a", b""]

    @pytest.mark.parametrize(
        ("indices", "message"),
        [([2, 1], "out of order"), ([1, 1], "repeated"), ([1, 9], "out of bounds")],
    )
    def test_refused(self, indices, message):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(tf.sparse_to_dense(indices, [4], [1.0, 2.0], name="it"))

    def test_unchecked(self):
        tensor = tf.sparse_to_dense([2, 1], [4], [1.0, 2.0], validate_indices=False)
        np.testing.assert_array_equal(run(tensor), [0, 2, 1, 0])


class TestProducts:
    @pytest.mark.parametrize("adjoint_a", [False, True])
    @pytest.mark.parametrize("adjoint_b", [False, True])
    def test_matmul_and_gradients(self, adjoint_a, adjoint_b):
        a = DENSE.T if adjoint_a else DENSE
        b = np.arange(1.0, 1 + 2 * a.shape[1]).reshape(a.shape[1], 2)
        source, right = sparse(), tf.constant(b.T.copy() if adjoint_b else b)
        product = tf.sparse_tensor_dense_matmul(source, right, adjoint_a, adjoint_b)
        assert product.op.name == "SparseTensorDenseMatMul/SparseTensorDenseMatMul"
        assert product.shape.as_list() == [a.shape[0], 2]
        dense_product = tf.matmul(tf.constant(a), right, transpose_b=adjoint_b)
        weights = tf.constant(np.arange(2.0 * a.shape[0]).reshape(-1, 2))
        dvalues, db = tf.gradients(product, [source.values, right], weights)
        wanted = tf.gradients(dense_product, [dense_product.op.inputs[0], right], weights)
        result, right_product, *grads = run([product, dense_product, dvalues, db, *wanted])
        np.testing.assert_allclose(result, right_product)
        rows = INDICES[:, ::-1] if adjoint_a else INDICES
        np.testing.assert_allclose(grads[0], grads[2][tuple(rows.T)])
        np.testing.assert_allclose(grads[1], grads[3])

    def test_refused(self):
        with pytest.raises(ValueError, match="inner dimension"):
            tf.sparse_tensor_dense_matmul(sparse(), np.ones((2, 2)))
        outside = tf.SparseTensor([[9, 0]], [1.0], [4, 3])
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            run(tf.sparse_tensor_dense_matmul(outside, np.ones((3, 2), np.float32)))

    @pytest.mark.parametrize("shape", [(4, 3), (3,), (4, 1), ()])
    def test_by_element(self, shape):
        other = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
        np.testing.assert_allclose(dense(sparse() * other), DENSE * other)
        np.testing.assert_allclose(dense(sparse() / other), DENSE / other)

    def test_only_the_dense_side_is_broadcast(self):
        product = sparse() * np.ones((2, 4, 3))
        with pytest.raises(tf.errors.InvalidArgumentError, match="broadcasts dense to sparse only"):
            run(product)


class TestArrays:
    def test_order_shape_and_parts(self):
        mixed = sparse(VALUES[::-1].copy(), INDICES[::-1].copy())
        np.testing.assert_array_equal(run(tf.sparse_reorder(mixed)).values, VALUES)
        reshaped = tf.sparse_reshape(sparse(), [2, -1])
        assert reshaped.shape.as_list() == [2, 6]
        np.testing.assert_array_equal(dense(reshaped), DENSE.reshape(2, 6))
        np.testing.assert_array_equal(dense(tf.sparse_transpose(sparse())), DENSE.T)
        kept = tf.sparse_retain(sparse(), [True, False, True, False])
        np.testing.assert_array_equal(run(kept).values, [1, 3])
        part = tf.sparse_slice(sparse(), [1, 0], [2, 2])
        np.testing.assert_array_equal(dense(part), DENSE[1:3, :2])

    def test_joined_and_split(self):
        joined = tf.sparse_concat(1, [sparse(), sparse()])
        assert joined.values.shape == 2 * sparse().values.shape[0].value
        assert joined.shape.as_list() == [4, 6]
        np.testing.assert_array_equal(dense(joined), np.concatenate([DENSE, DENSE], 1))
        parts = tf.sparse_split(sp_input=sparse(), num_split=2, axis=1)
        np.testing.assert_array_equal(dense(parts[0]), DENSE[:, :2])
        np.testing.assert_array_equal(dense(parts[1]), DENSE[:, 2:])
        small = tf.SparseTensor([[0, 0]], np.array([5.0]), [1, 2])
        wide = tf.sparse_concat(0, [sparse(), small], expand_nonconcat_dim=True)
        newer = tf.sparse_concat(0, [sparse(), small], expand_nonconcat_dims=True)
        assert newer.shape.as_list() == wide.shape.as_list()
        np.testing.assert_array_equal(dense(wide), [*DENSE, [5, 0, 0]])

    def test_empty_rows(self):
        filled, empty = tf.sparse_fill_empty_rows(sparse(), 9.0)
        np.testing.assert_array_equal(dense(filled)[2], [9, 0, 0])
        np.testing.assert_array_equal(run(empty), [False, False, True, False])

    def test_indicator(self):
        indicator = tf.sparse_to_indicator(sparse(np.array([1, 0, 2, 1])), 3)
        wanted = [[0, 1, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]]
        np.testing.assert_array_equal(run(indicator), np.array(wanted, bool))

    def test_refused(self):
        with pytest.raises(ValueError, match="Cannot reshape"):
            tf.sparse_reshape(sparse(), [5, 2])
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.sparse_concat(1, [sparse(), tf.SparseTensor([[0, 0]], np.ones(1), [9, 9])]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_split"):
            run(tf.sparse_split(sp_input=sparse(), num_split=7, axis=1)[0])
        with pytest.raises(ValueError):
            tf.sparse_retain(sparse(), [True])
        with pytest.raises(ValueError, match="Keyword"):
            tf.sparse_split(1)


class TestSums:
    def test_of_two(self):
        other = tf.SparseTensor([[0, 1], [2, 2]], np.array([-1.0, 0.5]), SHAPE)
        whole = DENSE.copy()
        whole[0, 1], whole[2, 2] = 0, 0.5
        total = tf.sparse_add(sparse(), other)
        np.testing.assert_array_equal(dense(total), whole)
        assert run(total).values.size == 5
        # sums of two elements may be too small; single elements stay
        assert run(tf.sparse_add(sparse(), other, 0.75)).values.size == 4
        np.testing.assert_array_equal(run(tf.sparse_add(np.ones((4, 3)), sparse())), DENSE + 1)
        np.testing.assert_array_equal(dense(tf.sparse_maximum(sparse(), other))[1:3, 2], [3, 0.5])
        np.testing.assert_array_equal(dense(tf.sparse_minimum(sparse(), other))[0, 1], -1)

    def test_refused(self):
        with pytest.raises(TypeError, match="SparseTensor"):
            tf.sparse_add(1.0, 2.0)
        with pytest.raises(ValueError):
            tf.sparse_add(sparse(), tf.SparseTensor([[0, 0]], np.ones(1), [5, 3]))
        with pytest.raises(ValueError, match="axis 2"):
            tf.sparse_reduce_sum(sparse(), 2)

    @pytest.mark.parametrize("axis", [None, 0, 1, -1, [0, 1], []])
    @pytest.mark.parametrize("keep", [False, True])
    def test_reductions(self, axis, keep):
        axes = tuple(axis) if isinstance(axis, list) else axis
        wanted = DENSE.sum(axis=axes, keepdims=keep)
        np.testing.assert_allclose(run(tf.sparse_reduce_sum(sparse(), axis, keep)), wanted)
        thin = tf.sparse_reduce_sum_sparse(sparse(), axis, keep)
        np.testing.assert_allclose(dense(thin), wanted)

    def test_largest_of_those_that_are_there(self):
        largest = tf.sparse_reduce_max(sparse(), 0)
        np.testing.assert_array_equal(run(largest), [-2, 1, 4])
        np.testing.assert_array_equal(dense(tf.sparse_reduce_max_sparse(sparse(), 0)), [-2, 1, 4])

    def test_softmax(self):
        softmax = run(tf.sparse_softmax(sparse())).values
        np.testing.assert_allclose(softmax, [1, 1 / (1 + np.e**5), 1 / (1 + np.e**-5), 1])

    def test_segments(self):
        data = np.arange(8.0).reshape(4, 2)
        picked, ids = [2, 0, 3], [0, 0, 2]
        np.testing.assert_array_equal(
            run(tf.sparse_segment_sum(data, picked, ids)), [[4, 6], [0, 0], [6, 7]]
        )
        mean = tf.sparse_segment_mean(data, picked, ids, num_segments=4)
        assert mean.shape.as_list() == [4, 2]
        np.testing.assert_array_equal(run(mean)[[0, 3]], [[2, 3], [0, 0]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not increasing"):
            run(tf.sparse_segment_sqrt_n(data, picked, [1, 0, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            run(tf.sparse_segment_sum(data, [2, 0, 9], ids))


TABLE = np.arange(1.0, 11.0).reshape(5, 2)


class TestEmbeddings:
    @pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_values(self, combiner, weighted):
        ids = np.array([1, 3, 0, 1])
        factors = np.array([0.5, 2.0, 1.0, 3.0]) if weighted else np.ones(4)
        weights = sparse(factors) if weighted else None
        embeddings = tf.nn.embedding_lookup_sparse(TABLE, sparse(ids), weights, combiner=combiner)
        wanted = np.zeros((4, 2))
        for row in (0, 1, 3):
            mine = INDICES[:, 0] == row
            scale = {
                "sum": 1.0,
                "mean": factors[mine].sum(),
                "sqrtn": np.sqrt((factors[mine] ** 2).sum()),
            }[combiner]
            wanted[row] = (TABLE[ids[mine]] * factors[mine][:, None]).sum(0) / scale
        np.testing.assert_allclose(run(embeddings), wanted)

    def test_gradient_goes_to_the_rows(self):
        table = tf.Variable(TABLE)
        ids = sparse(np.array([1, 3, 0, 1]))
        embeddings = tf.nn.embedding_lookup_sparse(table, ids, None, "mod", combiner="sum")
        grad = tf.gradients(embeddings, table)[0]
        assert isinstance(grad, tf.IndexedSlices)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            gradient = session.run(tf.convert_to_tensor(grad))
        np.testing.assert_array_equal(gradient[:, 0], [1, 2, 0, 1, 0])

    def test_safe(self):
        ids = sparse(np.array([1, -3, 0, 1]))
        embeddings = tf.nn.safe_embedding_lookup_sparse(TABLE, ids)
        assert embeddings.shape.as_list() == [4, 2]
        np.testing.assert_array_equal(run(embeddings), [TABLE[1], TABLE[0], [0, 0], TABLE[1]])
        filled = tf.nn.safe_embedding_lookup_sparse(TABLE, ids, default_id=4)
        np.testing.assert_array_equal(run(filled)[2], TABLE[4])
        cube = tf.SparseTensor([[0, 0, 1], [1, 1, 0]], [1, 2], [2, 2, 2])
        embeddings_of_cube = run(tf.nn.safe_embedding_lookup_sparse(TABLE, cube))
        np.testing.assert_array_equal(embeddings_of_cube, [[TABLE[1], [0, 0]], [[0, 0], TABLE[2]]])

    def test_refused(self):
        with pytest.raises(ValueError, match="combiner"):
            tf.nn.embedding_lookup_sparse(TABLE, sparse(), None, combiner="max")
        with pytest.raises(TypeError):
            tf.nn.embedding_lookup_sparse(TABLE, [1, 2], None, combiner="sum")
        with pytest.raises(ValueError, match="Missing"):
            tf.nn.safe_embedding_lookup_sparse([], sparse())


def test_values_of_sparse_tensors_are_as_good():
    value = tf.SparseTensorValue(((0, 1),), (1.0,), (3, 4))
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = tf.SparseTensor.from_value(value)
        again = tf.SparseTensor.from_value(tensor)
        assert again.values is tensor.values
        sizes = session.run([tf.shape(value), tf.size(value), tf.rank(value), again])
    assert sizes[0].tolist() == [3, 4] and sizes[1] == 12 and sizes[2] == 2
    assert sizes[3].values.tolist() == [1]
    with pytest.raises(TypeError, match="Neither a SparseTensor nor SparseTensorValue: 3"):
        tf.SparseTensor.from_value(3)


def test_sparse_tensors_have_a_float_dtype():
    sparse = tf.SparseTensor([[0]], [1.0], [3])
    assert tf.debugging.assert_same_float_dtype([sparse]) == tf.float32
    with pytest.raises(ValueError, match=r"must be of the same type .* as SparseTensor"):
        tf.debugging.assert_same_float_dtype([sparse, tf.constant(1.0, tf.float64)])

"""Variables in parts: how they are cut and made, used as one, shared, and refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

HERE = r"test_partitioned\.py:\d+"


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def get(name="w", shape=(8, 2), parts=3, axis=0, **given):
    given.setdefault("initializer", tf.zeros_initializer())
    given.setdefault("partitioner", tf.fixed_size_partitioner(parts, axis))
    return tf.get_variable(name, shape, **given)


def names(items):
    return [each.op.name for each in items]


def test_it_is_made_of_parts_the_first_ones_larger():
    with tf.variable_scope("s"):
        made = get()
    parts = list(made)
    assert names(parts) == ["s/w/part_0", "s/w/part_1", "s/w/part_2"]
    assert [part.shape.as_list() for part in parts] == [[3, 2], [3, 2], [2, 2]]
    assert (made.name, made.shape.as_list(), made.dtype, len(made)) == (
        "s/w", [8, 2], tf.float32, 3,
    )  # fmt: skip
    assert made.get_shape() is made.shape
    assert "s/w" in repr(made) and "[3, 1]" in repr(made)
    assert tf.trainable_variables() == tf.global_variables() == parts


def test_parts_say_where_they_lie():
    infos = [part._get_save_slice_info() for part in get(shape=(5, 2), parts=2)]
    assert [info.spec for info in infos] == ["5 2 0,3:0,2", "5 2 3,2:0,2"]
    assert infos[1] == tf.Variable.SaveSliceInfo("w", [5, 2], [3, 0], [2, 2])


def test_as_a_tensor_the_parts_are_joined():
    with tf.variable_scope("s"):
        made = get(shape=(4, 3), parts=2, axis=1, initializer=tf.ones_initializer())
    whole = tf.convert_to_tensor(made)
    assert whole.name == "s/w:0"
    assert whole.op.inputs[0].name == "s/w/ConcatPartitions/concat:0"
    assert made.as_tensor().name == "s/w_1:0"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(whole).shape == (4, 3)
        assert session.run(tf.reduce_sum(made)) == 12
        assert session.run(tf.matmul(made, tf.ones([3, 1])) + made).shape == (4, 3)


def test_one_part_is_a_partitioned_variable_too():
    made = get(parts=1)
    assert names(made) == ["w/part_0"]
    assert tf.convert_to_tensor(made).op.inputs == (next(iter(made)).value(),)


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 14), st.integers(0, 1))
def test_the_parts_are_the_whole_in_order(rows, columns, parts, axis):
    with tf.Graph().as_default():
        value = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        made = get(shape=None, parts=parts, axis=axis, initializer=tf.constant(value))
        sizes = [part.shape.as_list()[axis] for part in made]
        assert sum(sizes) == value.shape[axis]
        assert max(sizes) - min(sizes) <= 1
        assert sizes == sorted(sizes, reverse=True)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            np.testing.assert_array_equal(session.run(tf.identity(made)), value)
            np.testing.assert_array_equal(np.concatenate(session.run(list(made)), axis=axis), value)


def test_a_value_is_cut(graph):
    get(shape=[4], parts=2, initializer=[1.0, 2.0, 3.0, 4.0])
    slices = [op.name for op in graph.get_operations() if op.type == "Slice"]
    assert slices == [f"w/part_{index}/PartitionedInitializer/Slice" for index in range(2)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [part.tolist() for part in session.run(tf.global_variables())] == [[1, 2], [3, 4]]


def test_an_initializer_is_told_of_the_whole():
    told = []

    def initializer(shape, dtype=None, partition_info=None):
        told.append(
            (
                shape,
                partition_info.full_shape,
                partition_info.var_offset,
                partition_info.single_offset(shape),
                partition_info.single_slice_dim(shape),
            )
        )
        for bad in ([1], [9, 2], [1, 1]):
            with pytest.raises(ValueError, match="part of shape"):
                partition_info.single_slice_dim(bad)
        return tf.zeros(shape, dtype)

    get(shape=[5, 2], parts=2, initializer=initializer)
    assert told == [([3, 2], [5, 2], [0, 0], 0, 0), ([2, 2], [5, 2], [3, 0], 3, 0)]


def test_glorot_scales_by_the_whole():
    tf.set_random_seed(1)
    made = get(shape=[600, 600], parts=300, initializer=None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        whole = session.run(tf.identity(made))
    limit = np.sqrt(6 / 1200)
    assert 0.95 * limit < np.abs(whole).max() <= limit


def test_each_part_is_regularized():
    get(regularizer=tf.nn.l2_loss)
    losses = names(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    assert losses == [f"w/part_{index}/Regularizer/L2Loss" for index in range(3)]


def test_a_scopes_partitioner_is_inherited_and_scalars_are_whole():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)) as scope:
        with tf.variable_scope("t"):
            assert len(get(partitioner=None)) == 2
        assert isinstance(tf.get_variable("scalar", []), tf.Variable)
    with tf.variable_scope(scope):
        assert len(get(partitioner=None)) == 2


def test_it_is_shared_with_and_without_its_partitioner():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
        first = get(partitioner=None)
    with tf.variable_scope("s", reuse=True):
        assert get(partitioner=None) is first
        assert tf.get_variable("w") is first
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        assert get() is first


def test_it_is_assigned_as_a_whole_or_in_parts():
    made = get(shape=[5], parts=2)
    value = np.arange(5, dtype=np.float32)
    assigned, added = made.assign(value), made.assign_add([np.ones(3), np.ones(2)])
    doubled = made.assign_add(made)
    taken = made.assign_sub(value, read_value=False)
    assert all(isinstance(each, tf.Operation) for each in taken)
    with tf.Session() as session:
        for change, expected in [
            (assigned, value),
            (added, value + 1),
            (doubled, 2 * value + 2),
            (taken, value + 2),
        ]:
            session.run(change)
            np.testing.assert_array_equal(session.run(tf.identity(made)), expected)
    with pytest.raises(ValueError, match="'w' has 2 parts, but 1 values are given"):
        made.assign([value])


def test_its_parts_train():
    made = get(shape=[4, 1], parts=2)
    loss = tf.reduce_sum(tf.square(tf.matmul(np.eye(4, dtype=np.float32), made) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(10):
            session.run(train)
        assert session.run(loss) < 0.01 * first


def test_the_older_function_gives_the_parts():
    made = tf.create_partitioned_variables([4, 2], [1, 2], tf.zeros_initializer())
    assert names(made) == ["PartitionedVariable/part_0", "PartitionedVariable/part_1"]
    assert [part.shape.as_list() for part in made] == [[4, 1], [4, 1]]
    named = tf.create_partitioned_variables([4], [2], tf.zeros_initializer(), name="x")
    assert names(named) == ["x/part_0", "x/part_1"]
    again = tf.create_partitioned_variables([4], [2], tf.zeros_initializer(), name="x", reuse=True)
    assert again == named
    with pytest.raises(ValueError, match=r"^Cannot create 5 slices for size 4\. Shape: \[4\]"):
        tf.create_partitioned_variables([4], [5], tf.zeros_initializer())


def test_it_is_equal_to_itself_and_no_reference():
    made = get()
    assert made == made and made != get("x") and hash(made) == hash(made)
    with pytest.raises(NotImplementedError, match="'w' has no one reference"):
        tf.convert_to_tensor(made, as_ref=True)
    with pytest.raises(ValueError, match="requested to type 'int32' for partitioned variable 'w'"):
        tf.convert_to_tensor(made, tf.int32)


# -- errors


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        (3, "Partitioner must be callable, but received: 3"),
        (lambda shape, dtype: 2, "Partitioner must return a sequence, but saw: 2"),
        (lambda shape, dtype: [2], r"does not match the Variable's rank: \[2\] vs. \(8, 2\)"),
        (lambda shape, dtype: [0, 1], r"zero partitions for some axes: \[0, 1\]"),
        (lambda shape, dtype: [2, 2], "Can only slice a variable along one dimension"),
    ],
)
def test_bad_partitioners(partitioner, message):
    with pytest.raises(ValueError, match=message):
        get(partitioner=partitioner)
    assert tf.global_variables() == []


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((None, 2), r"must be fully defined, but instead was \(\?, 2\)"),
        (None, "must be fully defined, but instead was <unknown>"),
        (tf.TensorShape([]), "must have rank at least 1"),
    ],
)
def test_bad_shapes(shape, message):
    with pytest.raises(ValueError, match=message):
        get(shape=shape)


@pytest.mark.parametrize(
    ("again", "message"),
    [
        ({"parts": 2}, rf"specified partitions \[2, 1\] and found partitions \[3, 1\].*{HERE}"),
        ({"shape": (7, 2)}, rf"variable w, but specified shape \(7, 2\) .* \(8, 2\).*{HERE}"),
        ({"dtype": tf.int32}, rf"dtype int32 and found dtype float32\..*{HERE}"),
        ({"name": "x"}, "PartitionedVariable x does not exist"),
    ],
)
def test_bad_sharing(again, message):
    get()
    with (
        tf.variable_scope(tf.get_variable_scope(), reuse=True),
        pytest.raises(ValueError, match=message),
    ):
        get(**again)


def test_what_exists_is_not_made_again():
    get()
    with pytest.raises(ValueError, match=f"with name w already exists.*{HERE}"):
        get()


def test_what_was_made_in_parts_is_not_got_as_one():
    get()
    with pytest.raises(ValueError, match=f"No partitioner was provided.*w/part_0.*{HERE}"):
        tf.get_variable("w", [8, 2])


def test_what_was_made_as_one_is_not_got_in_parts():
    tf.get_variable("w", [8, 2])
    with pytest.raises(ValueError, match=f"an unpartitioned version .*: w.*{HERE}"):
        get()


@pytest.mark.parametrize(
    ("parts", "message"), [(2, "so was the extra shard w/part_2"), (4, "w/part_3 was not")]
)
def test_parts_made_by_hand_must_be_as_many(parts, message):
    for index in range(3):
        tf.get_variable(f"w/part_{index}", [2, 2])
    with pytest.raises(ValueError, match=message):
        get(parts=parts)


def test_the_older_function_is_refused():
    with pytest.raises(ValueError, match=r"same length.*\[4\].*\[2, 1\]"):
        tf.create_partitioned_variables([4], [2, 1], tf.zeros_initializer())
    with pytest.raises(ValueError, match="rank at least 1"):
        tf.create_partitioned_variables([], [], tf.zeros_initializer())
    with (
        tf.variable_scope("s", custom_getter=lambda getter, **given: getter(**given)),
        pytest.raises(ValueError, match="not allowed when a custom getter is set"),
    ):
        tf.create_partitioned_variables([4], [2], tf.zeros_initializer())

"""Tables that are filled once, and vocabularies with buckets for other words."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

lookup = tf.contrib.lookup


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def table_of(keys, values, default=-1, **options):
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values, **options)
    return tf.lookup.StaticHashTable(initializer, default)


def filled():
    session = tf.Session()
    session.run(tf.tables_initializer())
    return session


def test_values_by_keys():
    table = table_of(["a", "b"], [1, 2], value_dtype=tf.int64)
    keys = tf.placeholder(tf.string, [None, 2])
    found = table.lookup(keys)
    assert found.shape.as_list() == [None, 2] and found.dtype == tf.int64
    with filled() as session:
        assert session.run(found, {keys: [["b", "z"], ["a", "b"]]}).tolist() == [[2, -1], [1, 2]]
        assert session.run(found, {keys: np.empty((0, 2), object)}).shape == (0, 2)
        assert session.run(table.size()) == 2
        exported = session.run(table.export())
        assert dict(zip(*exported, strict=True)) == {b"a": 1, b"b": 2}


def test_the_values_of_a_sparse_tensor():
    table = table_of([5, 7], ["x", "y"], "?", key_dtype=tf.int64)
    sparse = tf.SparseTensor([[0, 1], [2, 0]], tf.constant([7, 6], tf.int64), [3, 2])
    with filled() as session:
        value = session.run(table.lookup(sparse))
    assert value.values.tolist() == [b"y", b"?"] and value.dense_shape.tolist() == [3, 2]
    assert value.indices.tolist() == [[0, 1], [2, 0]]


def test_a_table_is_filled_before_it_is_read():
    table = table_of(["a"], [1], value_dtype=tf.int64)
    assert tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS) == [table.initializer]
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            session.run(table.lookup(tf.constant(["a"])))
        with pytest.raises(tf.errors.AbortedError, match="HashTable is not initialized"):
            session.run(table.export())
        assert session.run(table.size()) == 0
        session.run(table.init)
        session.run(table.initializer)  # which changes nothing
        assert session.run(table.size()) == 1
    with tf.Session() as another, pytest.raises(tf.errors.FailedPreconditionError):
        another.run(table.lookup(tf.constant(["a"])))


def test_a_key_with_two_values():
    table = table_of(["a", "b", "a"], [1, 2, 3], value_dtype=tf.int64)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="Key a has 1 and trying"):
            session.run(table.initializer)
        assert session.run(table.size()) == 0


def test_a_filled_table_stays():
    table = table_of(["a"], [1], value_dtype=tf.int64)
    put = {"keys": ["a"], "values": tf.constant([2], tf.int64)}
    two = {"keys": ["a", "b"], "values": tf.constant([1, 2], tf.int64)}
    insert = tf.raw_ops.LookupTableInsertV2(table_handle=table.resource_handle, **put)
    other = tf.raw_ops.InitializeTableV2(table_handle=table.resource_handle, **two)
    with filled() as session:
        with pytest.raises(tf.errors.UnimplementedError, match="Insert not supported"):
            session.run(insert)
        with pytest.raises(tf.errors.FailedPreconditionError, match="already initialized with"):
            session.run(other)
        assert session.run(table.lookup(tf.constant(["a", "b"]))).tolist() == [1, -1]


def test_dtypes_that_do_not_fit():
    table = table_of(["a"], [1], value_dtype=tf.int64)
    with pytest.raises(TypeError, match="Keys must be dtype <dtype: 'string'>, got <dtype"):
        table.lookup(tf.constant([1]))
    find = tf.raw_ops.LookupTableFindV2(
        table_handle=table.resource_handle, keys=["a"], default_value=tf.constant(1.0)
    )
    with (
        filled() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError,
            match="have: resource, string, float32->float32 expected",
        ),
    ):
        session.run(find)
    with pytest.raises(ValueError):
        table_of(["a"], [1], default=[1])
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        table_of(["a", "b"], [1])


def test_a_table_in_a_branch_and_a_loop():
    choice = tf.placeholder(tf.bool, [])
    keys = tf.constant(["a", "b"])
    outside = table_of(["a"], [1], value_dtype=tf.int64)
    either = tf.cond(choice, lambda: outside.lookup(keys), lambda: tf.zeros([2], tf.int64))

    def body(step, total):
        inside = table_of(["b"], [10], value_dtype=tf.int64)
        return step + 1, total + inside.lookup(keys)

    _, total = tf.while_loop(lambda step, _: step < 3, body, [0, tf.zeros([2], tf.int64)])
    with filled() as session:
        assert session.run(either, {choice: True}).tolist() == [1, -1]
        assert session.run(either, {choice: False}).tolist() == [0, 0]
        assert session.run(total).tolist() == [-3, 30]


def test_tables_of_one_name_are_one():
    initializer = tf.lookup.KeyValueTensorInitializer(["a"], [1], value_dtype=tf.int64)
    one, other = (lookup.HashTable(initializer, -1, shared_name="words") for _ in range(2))
    with tf.Session() as session:
        session.run(one.initializer)
        assert session.run(other.lookup(tf.constant(["a"]))).tolist() == [1]
    wrong = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int32, shared_name="words")
    with tf.Session() as session:
        session.run(one.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Conflicting key/value dtypes"):
            session.run(tf.raw_ops.LookupTableSizeV2(table_handle=wrong))


def test_words_in_buckets():
    initializer = tf.lookup.KeyValueTensorInitializer(["lake"], [0], value_dtype=tf.int64)
    table = tf.lookup.StaticVocabularyTable(initializer, 3)
    words = tf.constant(["lake", "king", "palmer"])
    buckets = 1 + tf.strings.to_hash_bucket_fast(words, 3)
    alone = lookup.IdTableWithHashBuckets(None, 3)
    strong = lookup.IdTableWithHashBuckets(None, 3, lookup.StrongHashSpec([1, 2]))
    with filled() as session:
        found, expected, size = session.run([table.lookup(words), buckets, table.size()])
        assert found.tolist() == [0, *expected[1:]] and size == 4
        np.testing.assert_array_equal(session.run(alone.lookup(words)), expected - 1)
        by_key = session.run(tf.strings.to_hash_bucket_strong(words, 3, [1, 2]))
        np.testing.assert_array_equal(session.run(strong.lookup(words)), by_key)


def test_vocabularies_of_integers():
    keys = tf.constant([10, 20], tf.int64)
    initializer = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([0, 1], tf.int64))
    table = tf.lookup.StaticVocabularyTable(initializer, 2, lookup_key_dtype=tf.int32)
    with filled() as session:
        found = session.run(table.lookup(tf.constant([20, 30])))
    assert found[0] == 1 and found[1] in (2, 3)


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda t: lookup.IdTableWithHashBuckets(None, 0), ValueError, "oov_buckets must be > 0"),
        (lambda t: tf.lookup.StaticVocabularyTable(None, 0), ValueError, "oov_buckets must be > 0"),
        (lambda t: lookup.IdTableWithHashBuckets(t, 1, "fast"), TypeError, "type HasherSpec"),
        (lambda t: lookup.IdTableWithHashBuckets(t, 1, key_dtype=tf.int32), TypeError, "integer"),
        (
            lambda t: lookup.IdTableWithHashBuckets(
                t, 1, lookup.HasherSpec("other", None)
            ).lookup(tf.constant(["a"])),
            ValueError,
            "Unknown hasher other",
        ),
        (lambda t: lookup.StrongHashSpec([1]), ValueError, "key must have size 2, got 1"),
        (lambda t: lookup.StrongHashSpec("ab"), TypeError, "Must be unsigned integer"),
    ],
)  # fmt: skip
def test_what_is_refused(make, kind, words):
    table = table_of(["a"], [1], value_dtype=tf.int64)
    with pytest.raises(kind, match=words):
        make(table)


def test_a_monitored_session_fills_tables(tmp_path):
    table = table_of(["a"], [1], value_dtype=tf.int64)
    found = table.lookup(tf.constant(["a"]))
    tf.train.get_or_create_global_step()
    for _ in range(2):
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
            assert session.run(found).tolist() == [1]

"""Tables that runs change: against a dict, saved and restored, with buckets as TensorFlow's."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import gpugraph as tf

lookup = tf.contrib.lookup
SOME_KEYS = st.lists(st.integers(1, 9), max_size=5)


class Tables(RuleBasedStateMachine):
    """A table and a dict of the same keys and values."""

    is_dense = False

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[int, list[float]] = {}
        with tf.Graph().as_default() as graph:
            default = [0.5, -0.5]
            if self.is_dense:
                table = tf.lookup.experimental.DenseHashTable(
                    tf.int64, tf.float32, default, 0, -1, initial_num_buckets=4
                )
            else:
                table = lookup.MutableHashTable(tf.int64, tf.float32, default)
            self.keys = tf.placeholder(tf.int64, [None])
            self.values = tf.placeholder(tf.float32, [None, 2])
            self.insert_op = table.insert(self.keys, self.values)
            self.remove_op = table.remove(self.keys)
            self.found, self.size = table.lookup(self.keys), table.size()
            self.exported = table.export()
        self.session = tf.Session(graph=graph)

    @rule(keys=SOME_KEYS, start=st.integers(0, 9))
    def insert(self, keys: list[int], start: int) -> None:
        values = [[start + n, -n] for n in range(len(keys))]
        feeds = {self.keys: keys, self.values: np.reshape(values, (-1, 2))}
        self.session.run(self.insert_op, feeds)
        self.model.update(zip(keys, values, strict=True))

    @rule(keys=SOME_KEYS)
    def remove(self, keys: list[int]) -> None:
        self.session.run(self.remove_op, {self.keys: keys})
        for key in keys:
            self.model.pop(key, None)

    @rule(keys=SOME_KEYS)
    def find(self, keys: list[int]) -> None:
        found = self.session.run(self.found, {self.keys: keys})
        expected = [self.model.get(key, [0.5, -0.5]) for key in keys]
        np.testing.assert_array_equal(found, np.reshape(expected, (-1, 2)))

    @invariant()
    def has_the_same(self) -> None:
        size, (keys, values) = self.session.run([self.size, self.exported])
        assert size == len(self.model)
        listed = zip(keys.ravel().tolist(), values.tolist(), strict=True)
        assert {key: value for key, value in listed if key > 0} == self.model


class DenseTables(Tables):
    is_dense = True


FEW = settings(max_examples=8, stateful_step_count=12, deadline=None)
TestTables = Tables.TestCase
TestTables.settings = FEW
TestDenseTables = DenseTables.TestCase
TestDenseTables.settings = FEW


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_strings_and_shapes(session):
    table = lookup.MutableHashTable(tf.string, tf.string, "?")
    found = table.lookup(tf.constant([["a", "b"]]))
    assert found.shape.as_list() == [1, 2] and table.name == "MutableHashTable"
    session.run(table.insert(["a"], ["long value"]))
    assert session.run(found).tolist() == [[b"long value", b"?"]]
    keys, values = session.run(table.export())
    assert keys.tolist() == [b"a"] and values.tolist() == [b"long value"]


def test_all_is_replaced(session):
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    session.run(table.insert(["a", "b"], [1, 2]))
    values = tf.constant([3], tf.int64)
    handle = table.resource_handle
    session.run(tf.raw_ops.LookupTableImportV2(table_handle=handle, keys=["c"], values=values))
    assert session.run(table.lookup(["a", "c"])).tolist() == [-1, 3]
    fill = tf.raw_ops.InitializeTableV2(table_handle=handle, keys=["c"], values=values)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not initializable"):
        session.run(fill)


def test_values_that_do_not_fit(session):
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    values = tf.placeholder(tf.int64, None)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[1\] for value, got \[2\]"):
        session.run(table.insert(["a"], values), {values: [1, 2]})
    default = tf.constant([1, 2], tf.int64)
    find = tf.raw_ops.LookupTableFindV2(
        table_handle=table.resource_handle, keys=["a"], default_value=default
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="for default value, got"):
        session.run(find)
    with pytest.raises(TypeError, match="Keys must be dtype <dtype: 'string'>"):
        table.remove(tf.constant([1]))
    matrix = lookup.MutableHashTable(tf.string, tf.int64, [[1]], name="matrix")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Default value must be a vector"):
        session.run(matrix.size())


def test_what_is_no_table(session):
    queue = tf.FIFOQueue(2, tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="that of no table"):
        session.run(tf.raw_ops.LookupTableSizeV2(table_handle=queue.queue_ref))


def test_buckets_are_tensorflows(session):
    """As TensorFlow 2.21 exports them: its checkpoints have the buckets."""
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -1, 8)
    session.run(table.insert([5, 13, 21], [1, 2, 3]))
    keys, values = session.run(table.export())
    assert keys.ravel().tolist() == [21, 0, 0, 0, 0, 5, 13, 0]
    assert values.ravel().tolist() == [3, 0, 0, 0, 0, 1, 2, 0]
    rows = lookup.MutableDenseHashTable(
        tf.int64, tf.int64, -1, [0, 0], [1, 1], initial_num_buckets=4, name="rows"
    )
    session.run(rows.insert([[3, 4], [5, 6]], [7, 8]))
    assert session.run(rows.lookup([[5, 6], [4, 3]])).tolist() == [8, -1]
    assert session.run(rows.export())[0].tolist() == [[5, 6], [0, 0], [0, 0], [3, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must end with the table's key shape"):
        session.run(rows.lookup([[1, 2, 3]]))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"empty_key": 3, "deleted_key": 3}, "Empty and deleted keys cannot be equal"),
        ({"empty_key": [3], "deleted_key": 4}, "Empty and deleted keys must have same shape"),
        ({"empty_key": 3, "deleted_key": 4, "initial_num_buckets": 3}, "a power of 2, got: 3"),
    ],
)
def test_dense_tables_that_can_not_be(session, options, words):
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, **options)
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(table.size())


@pytest.mark.parametrize("key, name", [(0, "empty_key"), (-1, "deleted_key")])
def test_keys_of_buckets(session, key, name):
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -1)
    for what in (
        table.lookup([key]),
        table.insert([key], [1]),
        table.erase(tf.constant([key], "int64")),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"Using the {name} as a table"):
            session.run(what)


def test_savers_save_tables(session, tmp_path):
    table = lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
    dense = tf.lookup.experimental.DenseHashTable(tf.string, tf.float32, [0.0, 0.0], "", "-", 4)
    lookup.MutableHashTable(tf.string, tf.int64, -1, name="unsaved", checkpoint=False)
    found = [table.lookup(["a", "b"]), dense.lookup(["x"])]
    saver, path = tf.train.Saver(), str(tmp_path / "model")
    session.run([table.insert(["a"], [7]), dense.insert_or_assign(["x"], [[1.0, 2.0]])])
    saver.save(session, path)
    names = [name for name, _ in tf.train.list_variables(path)]
    assert names[-2:] == ["words-keys", "words-values"] and len(names) == 4
    session.run([table.insert(["a", "b"], [8, 9]), dense.remove(tf.constant(["x"]))])
    saver.restore(session, path)
    words, row = session.run(found)
    assert words.tolist() == [7, -1] and row.tolist() == [[1.0, 2.0]]


def test_checkpoints_of_objects_save_tables(session, tmp_path):
    checkpoint = tf.train.Checkpoint(table=lookup.MutableHashTable(tf.string, tf.int64, -1))
    session.run(checkpoint.table.insert(["a"], [5]))
    path = checkpoint.save(str(tmp_path / "objects"), session=session)
    session.run(checkpoint.table.insert(["a"], [6]))
    checkpoint.restore(path).run_restore_ops(session)
    assert session.run(checkpoint.table.lookup(["a"])).tolist() == [5]


def test_runs_of_several_threads(session):
    table = lookup.MutableHashTable(tf.int64, tf.int64, -1)
    keys = tf.placeholder(tf.int64, [None])
    insert = table.insert(keys, keys)

    def add(start):
        for number in range(start, start + 50, 5):
            session.run(insert, {keys: range(number, number + 5)})

    threads = [threading.Thread(target=add, args=(50 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(session.run(table.export())[1].tolist()) == list(range(200))


def test_tables_of_graphs_with_older_op_types(session):
    graph_def = tf.GraphDef()
    handle = tf.raw_ops.MutableHashTable(key_dtype=tf.string, value_dtype=tf.int64, name="table")
    value = tf.constant([4], tf.int64)
    tf.raw_ops.LookupTableInsert(table_handle=handle, keys=["a"], values=value, name="insert")
    tf.raw_ops.LookupTableFind(
        table_handle=handle, keys=["a", "b"], default_value=tf.constant(-1, tf.int64), name="find"
    )
    graph_def.ParseFromString(tf.get_default_graph().as_graph_def().SerializeToString())
    with tf.Graph().as_default(), tf.Session() as other:
        insert, find = tf.import_graph_def(graph_def, return_elements=["insert", "find:0"])
        other.run(insert)
        assert other.run(find).tolist() == [4, -1]

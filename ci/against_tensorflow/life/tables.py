"""Programs of tables: filled from tensors and files, changed by runs, saved and loaded."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, counting, shapes

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)

WHOLE, NUMBER = -2, -1


def contrib(tf: Any) -> Any:
    """Return `tf.contrib.lookup`, or its remainder in TensorFlow 2."""
    if hasattr(tf, "contrib"):
        return tf.contrib.lookup
    return importlib.import_module("tensorflow.python.ops.lookup_ops")


def in_order(pair: Any) -> list[Any]:
    """Exported keys and values, sorted by key."""
    keys, values = (np.asarray(part).tolist() for part in pair)
    return sorted(zip(keys, values, strict=True))


def write(record: Record, name: str, text: str) -> str:
    """Return the path of a new file."""
    path = record.folder / name
    path.write_text(text)
    return str(path)


def pairs(tf: Any, keys: Any, values: Any, dtype: str = "int64", **options: Any) -> Any:
    """Return a table of two lists."""
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values, value_dtype=dtype)
    return tf.lookup.StaticHashTable(initializer, **{"default_value": -1, **options})


# -- filled once


@program
def filled_from_tensors(tf: Any, record: Record) -> None:
    table = pairs(tf, ["a", "b"], [1, 2])
    keys = tf.placeholder(tf.string, [None, 2])
    found = table.lookup(keys)
    sparse = table.lookup(tf.SparseTensor([[0, 0], [1, 2]], ["b", "z"], [2, 3]))
    record("names", [table.name, found.op.name, table.initializer.name, table.resource_handle.name])
    record("types", [op.type for op in tf.get_default_graph().get_operations()])
    record("shapes", shapes([found, table.size(), sparse.values, *table.export()]))
    record("collection", [op.name for op in tf.get_collection("table_initializer")])
    record("initializers", tf.tables_initializer().name)
    with tf.Session() as session:
        record.error("find", lambda: session.run(found, {keys: [["a", "b"]]}))
        record("size before", session.run(table.size()))
        record.error("export", lambda: session.run(table.export()))
        session.run(tf.tables_initializer())
        record("found", session.run(found, {keys: [["a", "z"], ["b", "a"]]}))
        record("sparse", session.run(sparse))
        record("size", session.run(table.size()))
        record("all", in_order(session.run(table.export())))
        record.error("again", lambda: session.run(table.initializer))
    record.error("keys' dtype", lambda: table.lookup(tf.constant([1])))
    record.error("default's shape", lambda: pairs(tf, ["a"], [1], default_value=[1]))
    record.error("default's dtype", lambda: pairs(tf, ["a"], [1], default_value="z"))
    record.error("counts", lambda: pairs(tf, ["a", "b"], [1]))
    record.error("rank", lambda: pairs(tf, [["a", "b"]], [[1, 2]]))


@program
def dtypes_of_tables(tf: Any, record: Record) -> None:
    cases: list[tuple[Any, Any, str, Any]] = [
        (["a", "b"], [1, 2], "int32", -1), (["a", "b"], [0.5, 2.0], "float32", -1.0),
        (["a", "b"], [0.5, 2.0], "float64", -1.0), (["a", "b"], ["x", "y"], "string", "u"),
        (["a", "b"], [True, False], "bool", False),
    ]  # fmt: skip
    numbers = np.array([3, 4], np.int64)
    cases += [(numbers, case[1], case[2], case[3]) for case in cases[:4]]
    for number, (keys, values, dtype, default) in enumerate(cases):
        table = pairs(tf, keys, values, dtype, default_value=default)
        unknown = tf.constant(["q"]) if number < 5 else tf.constant([9], tf.int64)
        found = table.lookup(tf.concat([tf.constant(keys), unknown], 0))
        with tf.Session() as session:
            session.run(table.initializer)
            record(f"{number} {dtype}", [session.run(found), found.dtype.name])


@program
def filled_twice(tf: Any, record: Record) -> None:
    table = pairs(tf, ["a", "b"], [1, 2])
    handle, raw = table.resource_handle, tf.raw_ops

    def put(key: str, op: Any, *lists: Any) -> None:
        values = [tf.constant(part, t) for part, t in zip(lists, ("string", "int64"), strict=False)]
        names = ("keys", "values")[: len(values)]
        inputs = dict(zip(names, values, strict=True))
        record.error(key, lambda: session.run(op(table_handle=handle, **inputs)))

    with tf.Session() as session:
        session.run(table.initializer)
        put("other", raw.LookupTableImportV2, ["a", "b"], [1, 3])
        put("fewer", raw.InitializeTableV2, ["a"], [1])
        put("equal", raw.InitializeTableV2, ["b", "a"], [2, 1])
        put("insert", raw.LookupTableInsertV2, ["a"], [5])
        put("remove", raw.LookupTableRemoveV2, ["a"])
        twice = pairs(tf, ["a", "a"], [1, 2])
        record.error("two values", lambda: session.run(twice.initializer))
        same = pairs(tf, ["a", "a"], [1, 1])
        session.run(same.initializer)
        record("one value twice", session.run(same.size()))
        find = raw.LookupTableFindV2
        types = find(table_handle=handle, keys=tf.constant(["a"]), default_value=tf.constant(1))
        record.error("dtype of values", lambda: session.run(types))
        keys = tf.placeholder(tf.string, None)
        values = tf.placeholder(tf.int64, None)
        fed = tf.lookup.KeyValueTensorInitializer(keys, values)
        other = tf.lookup.StaticHashTable(fed, -1)
        feeds = {keys: ["a", "b"], values: [1]}
        record.error("counts of a run", lambda: session.run(other.initializer, feeds))


# -- files


@program
def filled_from_files(tf: Any, record: Record) -> None:
    words = write(record, "words.txt", "emerson\nlake\r\npalmer")
    two = write(record, "two.txt", "a\t1\t0.5\nb\t2\tx\n")

    def content(path: str, *arguments: Any, **options: Any) -> Any:
        initializer = tf.lookup.TextFileInitializer(path, *arguments, **options)
        default = "?" if arguments[2] == tf.string else -1
        with tf.Graph().as_default(), tf.Session() as session:
            initializer = tf.lookup.TextFileInitializer(path, *arguments, **options)
            table = tf.lookup.StaticHashTable(initializer, default)
            session.run(tf.tables_initializer())
            return in_order(session.run(table.export()))

    record("words", content(words, tf.string, WHOLE, tf.int64, NUMBER))
    record("numbers", content(words, tf.int64, NUMBER, tf.string, WHOLE))
    record("fewer", content(words, tf.string, WHOLE, tf.int64, NUMBER, vocab_size=2))
    record("columns", content(two, tf.string, 0, tf.int64, 1))
    record("delimiter", content(words, tf.string, 1, tf.string, 0, delimiter="e", vocab_size=1))
    bad = {
        "size": (words, tf.string, WHOLE, tf.int64, NUMBER, 5),
        "columns missing": (words, tf.string, 0, tf.int64, 1),
        "not a number": (two, tf.string, 0, tf.int64, 2),
        "not a float": (two, tf.string, 0, tf.float32, 2),
        "no file": (str(record.folder / "none"), tf.string, WHOLE, tf.int64, NUMBER),
        "a folder": (str(record.folder), tf.string, WHOLE, tf.int64, NUMBER),
        "no path": ("", tf.string, WHOLE, tf.int64, NUMBER),
        "key index": (words, tf.string, -3, tf.int64, NUMBER),
        "value index": (words, tf.string, WHOLE, tf.int64, -3),
        "number of strings": (words, tf.string, NUMBER, tf.int64, NUMBER),
        "line of floats": (words, tf.float32, WHOLE, tf.int64, NUMBER),
        "value's number": (words, tf.string, WHOLE, tf.int32, NUMBER),
        "value's line": (words, tf.string, WHOLE, tf.float32, WHOLE),
        "no lines": (words, tf.string, WHOLE, tf.int64, NUMBER, 0),
        "two delimiters": (words, tf.string, 0, tf.int64, NUMBER, None, "ab"),
        "empty line": (write(record, "gap", "a\n\nb"), tf.string, WHOLE, tf.int64, NUMBER),
        "line twice": (write(record, "twice", "a\nb\na"), tf.string, WHOLE, tf.int64, NUMBER),
    }
    for key, arguments in bad.items():
        record.error(key, lambda arguments=arguments: content(*arguments))


@program
def files_as_ops(tf: Any, record: Record) -> None:
    path = write(record, "words.txt", "a\nb\n")
    one, other = (
        tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(path, tf.string, WHOLE, tf.int64, NUMBER), -1
        )
        for _ in range(2)
    )
    fed = tf.placeholder(tf.string, [])
    tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(fed, tf.string, WHOLE, tf.int64, NUMBER, vocab_size=1), -1
    )
    record("names", [op.name for op in tf.get_default_graph().get_operations()])
    record("assets", [t.name for t in tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)])
    name = other.resource_handle.op.get_attr("shared_name")
    record("shared name", name.replace(path.encode(), b"PATH"))
    with tf.Session() as session:
        session.run(one.initializer)
        record("one table", session.run(other.lookup(tf.constant(["b", "c"]))))


# -- vocabularies


@program
def vocabularies(tf: Any, record: Record) -> None:
    lookup = contrib(tf)
    path = write(record, "words.txt", "emerson\nlake\npalmer\n")
    words = tf.constant([["lake", "king"], ["palmer", "crimson"]])
    tables: dict[str, Any] = {
        "file": lookup.index_table_from_file(path),
        "file, buckets": lookup.index_table_from_file(path, num_oov_buckets=3, vocab_size=2),
        "file, default": lookup.index_table_from_file(path, default_value=7),
        "tensor": lookup.index_table_from_tensor(["lake", "palmer"]),
        "tensor, buckets": lookup.index_table_from_tensor(["lake"], 5),
        "strong": lookup.index_table_from_tensor(["lake"], 5, -1, lookup.StrongHashSpec([1, 2])),
        "legacy": lookup.index_table_from_tensor(
            ["lake"], 5, -1, lookup.HasherSpec("legacy", None)
        ),
        "static": tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(["lake"], [0], value_dtype=tf.int64), 4
        ),
        "buckets alone": lookup.IdTableWithHashBuckets(None, 6),
        "no table": tf.lookup.StaticVocabularyTable(None, 6),
    }
    found = {key: table.lookup(words) for key, table in tables.items()}
    sizes = {key: table.size() for key, table in tables.items()}
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        record("numbers", session.run(found))
        record("sizes", session.run(sizes))
    record("names", {key: [tables[key].name, found[key].name] for key in tables})
    record("operations", [op.name for op in tf.get_default_graph().get_operations()])
    numbers = tf.constant([2, 0, 9], tf.int64)
    back = [
        lookup.index_to_string_table_from_file(path, default_value="?").lookup(numbers),
        lookup.index_to_string_table_from_tensor(["x", "y"]).lookup(numbers),
    ]
    ids = lookup.index_table_from_tensor([10, 20], 3, dtype=tf.int32)
    static = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant([10, 20], tf.int64), tf.constant([0, 1], tf.int64)
        ), 3, lookup_key_dtype=tf.int32,
    )  # fmt: skip
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        record("back", session.run(back))
        keys = tf.constant([20, 30, 40])
        record("integers", session.run([ids.lookup(keys), static.lookup(keys)]))
        sparse = tf.SparseTensor([[0], [2]], ["lake", "king"], [3])
        record("sparse", session.run(tables["tensor, buckets"].lookup(sparse)))


@program
def vocabularies_refused(tf: Any, record: Record) -> None:
    lookup = contrib(tf)
    table = lookup.index_table_from_tensor(["a"])
    floats = pairs(tf, ["a"], [0.5], "float32", default_value=0.0)
    wrong: dict[str, Callable[[], Any]] = {
        "no file": lambda: lookup.index_table_from_file(None),
        "no path": lambda: lookup.index_table_from_file(""),
        "vocabulary": lambda: lookup.index_table_from_file("x", vocab_size=0),
        "negative buckets": lambda: lookup.index_table_from_file("x", -1),
        "file's dtype": lambda: lookup.index_table_from_file("x", key_dtype=tf.float32),
        "no tensor": lambda: lookup.index_table_from_tensor(None),
        "tensor's dtype": lambda: lookup.index_table_from_tensor([1, 2]),
        "tensor of floats": lambda: lookup.index_table_from_tensor([0.5], dtype=tf.float32),
        "keys": lambda: table.lookup(tf.constant([1])),
        "no bucket": lambda: lookup.IdTableWithHashBuckets(None, 0),
        "values": lambda: lookup.IdTableWithHashBuckets(floats, 1),
        "hasher": lambda: lookup.IdTableWithHashBuckets(table, 1, "fasthash"),
        "unknown hasher": lambda: lookup.IdTableWithHashBuckets(
            table, 1, lookup.HasherSpec("other", None)
        ).lookup(tf.constant(["a"])),
        "key": lambda: lookup.StrongHashSpec([1]),
        "key of text": lambda: lookup.StrongHashSpec(["a", "b"]),
        "static buckets": lambda: tf.lookup.StaticVocabularyTable(None, 0),
        "back, no tensor": lambda: lookup.index_to_string_table_from_tensor(None),
        "back, no file": lambda: lookup.index_to_string_table_from_file(""),
        "back, size": lambda: lookup.index_to_string_table_from_file("x", vocab_size=0),
    }
    for key, action in wrong.items():
        record.error(key, action)


# -- changed by runs


@program
def mutable(tf: Any, record: Record) -> None:
    table = contrib(tf).MutableHashTable(tf.string, tf.int64, -1)
    keys, values = tf.placeholder(tf.string, None), tf.placeholder(tf.int64, None)
    insert, remove, found = table.insert(keys, values), table.remove(keys), table.lookup(keys)
    export, size = table.export(), table.size()
    record("names", [op.name for op in tf.get_default_graph().get_operations()])
    record("shapes", shapes([table.lookup(tf.constant([["a"]])), size]))
    with tf.Session() as session:
        record("empty", session.run([size, found], {keys: ["a"]}))
        session.run(insert, {keys: [["a", "b"], ["c", "a"]], values: [[1, 2], [3, 4]]})
        record("all", in_order(session.run(export)))
        session.run(remove, {keys: ["a", "z"]})
        record("found", session.run(found, {keys: [["a", "b"]]}))
        record("size", session.run(size))
        record.error("shape", lambda: session.run(insert, {keys: ["a"], values: [1, 2]}))
        raw = tf.raw_ops.LookupTableImportV2(
            table_handle=table.resource_handle, keys=["q"], values=tf.constant([5], tf.int64)
        )
        session.run(raw)
        record("replaced", in_order(session.run(export)))
        fill = tf.raw_ops.InitializeTableV2(
            table_handle=table.resource_handle, keys=["q"], values=tf.constant([5], tf.int64)
        )
        record.error("initialized", lambda: session.run(fill))
    record.error("dtype of remove", lambda: table.remove(tf.constant([1])))
    record.error("dtype of insert", lambda: table.insert(tf.constant([1]), tf.constant([1])))


@program
def vectors(tf: Any, record: Record) -> None:
    table = contrib(tf).MutableHashTable(tf.int64, tf.float32, [0.5, -0.5])
    keys, values = tf.placeholder(tf.int64, None), tf.placeholder(tf.float32, None)
    record("shape", shapes([table.lookup(tf.constant([[1]], tf.int64))]))
    insert, found = table.insert(keys, values), table.lookup(keys)
    with tf.Session() as session:
        session.run(insert, {keys: [1, 2], values: [[1, 2], [3, 4]]})
        record("found", session.run(found, {keys: [[2, 9]]}))
        record("one", session.run(found, {keys: 1}))
        record.error("shape of values", lambda: session.run(insert, {keys: [1], values: [[1]]}))
        record("all", in_order(session.run(table.export())))
        record.error(
            "matrix", lambda: session.run(
                contrib(tf).MutableHashTable(tf.int64, tf.float32, [[0.5]], "other").size()
            ),
        )  # fmt: skip


@program
def dense(tf: Any, record: Record) -> None:
    kind = tf.lookup.experimental.DenseHashTable
    table = kind(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1, initial_num_buckets=8)
    keys, values = tf.placeholder(tf.int64, None), tf.placeholder(tf.int64, None)
    insert, remove, found = table.insert(keys, values), table.remove(keys), table.lookup(keys)
    with tf.Session() as session:
        session.run(insert, {keys: [5, 13, 21], values: [1, 2, 3]})
        record("buckets", session.run(table.export()))
        session.run(insert, {keys: [7, 8], values: [4, 5]})
        session.run(remove, {keys: [13, 99]})
        record("found", session.run(found, {keys: [5, 13, 7]}))
        record("size", session.run(table.size()))
        for key, number in (("empty", 0), ("deleted", -1)):
            record.error(f"find {key}", lambda: session.run(found, {keys: [number]}))  # noqa: B023
            record.error(f"remove {key}", lambda: session.run(remove, {keys: [number]}))  # noqa: B023
        for number, options in enumerate(
            (
                {"empty_key": 3, "deleted_key": 3},
                {"empty_key": 3, "deleted_key": 4, "initial_num_buckets": 3},
                {"empty_key": [3], "deleted_key": 4},
            )
        ):
            other = kind(tf.int64, tf.int64, -1, name=f"other{number}", **options)
            record.error(f"other {number}", lambda other=other: session.run(other.size()))
        strings = kind(
            tf.string, tf.float32, [0.0, 1.0], "", "-", initial_num_buckets=4, name="strings"
        )
        session.run(strings.insert(tf.constant(["b", "a"]), tf.constant([[1.0, 2], [3, 4]])))
        record("buckets of strings", session.run(strings.export()))
        rows = kind(tf.int64, tf.int64, -1, [0, 0], [1, 1], initial_num_buckets=4, name="rows")
        session.run(rows.insert(tf.constant([[3, 4], [5, 6]], tf.int64), [7, 8]))
        record("rows", session.run(rows.lookup(tf.constant([[5, 6], [4, 3]], tf.int64))))
        record("buckets of rows", session.run(rows.export()))
        record.error("a row of one", lambda: session.run(rows.lookup(keys), {keys: [[5]]}))


@program
def shared(tf: Any, record: Record) -> None:
    raw = tf.raw_ops

    def table(dtype: Any, op: Any = raw.MutableHashTableV2) -> Any:
        return op(key_dtype=tf.string, value_dtype=dtype, shared_name="x")

    one, other, third = table(tf.int64), table(tf.int64), table(tf.int32)
    put = raw.LookupTableInsertV2(table_handle=one, keys=["a"], values=tf.constant([5], tf.int64))
    found = raw.LookupTableFindV2(
        table_handle=other, keys=["a", "b"], default_value=tf.constant(-1, tf.int64)
    )
    with tf.Session() as session:
        session.run(put)
        record("found", session.run(found))
        size = raw.LookupTableSizeV2(table_handle=third)
        record.error("dtypes", lambda: session.run(size))
    with tf.Session() as session:
        record("of another session", session.run(found))


# -- saved


@program
def saved(tf: Any, record: Record) -> None:
    table = contrib(tf).MutableHashTable(tf.string, tf.int64, -1, name="words")
    dense = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, -1, 0, -1, initial_num_buckets=4, name="numbers"
    )
    contrib(tf).MutableHashTable(tf.string, tf.int64, -1, name="unsaved", checkpoint=False)
    path = str(record.folder / "model")
    saver = tf.train.Saver()
    numbers = tf.constant([1, 3], tf.int64)
    found = [table.lookup(tf.constant(["a", "b"])), dense.lookup(numbers)]
    with tf.Session() as session:
        session.run([table.insert(["a"], [7]), dense.insert(numbers, numbers)])
        saver.save(session, path)
        record("variables", [name for name, _ in tf.train.list_variables(path)])
        session.run([table.insert(["a", "b"], [8, 9]), dense.remove(numbers)])
        record("changed", session.run(found))
        saver.restore(session, path)
        record("restored", session.run(found))
    objects = tf.train.Checkpoint(table=table)
    with tf.Session() as session:
        session.run(table.insert(["a"], [5]))
        written = objects.save(str(record.folder / "objects"), session=session)
        record("keys", [name for name, _ in tf.train.list_variables(written)])
        session.run(table.insert(["a"], [6]))
        objects.restore(written).run_restore_ops(session)
        record("of objects", session.run(found[0]))


@program
def saved_models(tf: Any, record: Record) -> None:
    path = write(record, "words.txt", "emerson\nlake\n")
    folder = str(record.folder / "model")
    words = tf.placeholder(tf.string, [None])
    table = contrib(tf).index_table_from_file(path)
    ids = table.lookup(words)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        tf.saved_model.simple_save(
            session, folder, {"words": words}, {"ids": ids}, tf.tables_initializer()
        )
    Path(path).unlink()
    record("assets", sorted(file.name for file in (Path(folder) / "assets").iterdir()))
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.saved_model.load(session, ["serve"], folder)
        feeds = {words.name: ["lake", "palmer"]}
        record("loaded", session.run(ids.name, feeds))
        record("initializers", len(graph.get_collection("table_initializer")))


@program
def monitored(tf: Any, record: Record) -> None:
    table = pairs(tf, ["a"], [1])
    found = table.lookup(tf.constant(["a", "b"]))
    _, count = counting(tf)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(record.folder)) as session:
        record("run", session.run([found, count]))
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(record.folder)) as session:
        record("again", session.run([found, count]))


@program
def branches_and_loops(tf: Any, record: Record) -> None:
    choice = tf.placeholder(tf.bool, [])
    table = pairs(tf, ["a"], [1])
    keys = tf.constant(["a", "b"])
    either = tf.cond(choice, lambda: table.lookup(keys), lambda: tf.constant([5, 6], tf.int64))

    def body(step: Any, total: Any) -> Any:
        inner = pairs(tf, ["b"], [10])
        return step + 1, total + table.lookup(keys) + inner.lookup(keys)

    zeros = tf.constant([0, 0], tf.int64)
    _, total = tf.while_loop(lambda step, _: step < 3, body, [0, zeros])
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        record("either", [session.run(either, {choice: value}) for value in (True, False)])
        record("total", session.run(total))

"""Programs of records, Examples and readers, by TensorFlow and gpugraph.

    python ci/against_tensorflow/reader_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, main

PROGRAMS: Programs = {}

ALONE = "says what is wrong, where TensorFlow has one text for all"
WORDS_OF_1 = "1.15's words, which 2.x has written anew"
LATIN = "TensorFlow puts the bytes into its error, whose text can't be decoded"
MORE = "the text goes on with what is wrong"
RECORDS = "the text names the record's offset, what is wrong and the file"
EXPLAINED: dict[str, str] = {
    "misfits: count, single": ALONE,
    "misfits: count of int, single": ALONE,
    "misfits: count of text, single": ALONE,
    "misfits: rows, single": ALONE,
    "bytes_that_are_none: cut": LATIN,
    "bytes_that_are_none: half": LATIN,
    "bytes_that_are_none: long": LATIN,
    "bytes_that_are_none: length": "TensorFlow takes a length that the bytes have not",
    "bytes_that_are_none: no rank": "1.15 refuses a scalar, 2.x has ParseExampleV2",
    "names_in_the_graph: ops": "2.x has ParseExampleV2",
    **dict.fromkeys(
        (
            f"features_refused: {key}"
            for key in (
                *("none", "empty", "no dtype", "fixed, no dtype", "no shape", "rows, no dtype"),
                *("rows, no shape", "no feature", "no index", "no value", "no dtype of sparse"),
                "default's dtype",
            )
        ),
        WORDS_OF_1,
    ),
    "sequences_refused: count": WORDS_OF_1,
    "sequences_refused: count, batch": WORDS_OF_1,
    "sequences_refused: context": WORDS_OF_1,
    "sequences_refused: no message": WORDS_OF_1,
    "sequences_refused: nothing": WORDS_OF_1,
    "sequences_refused: kind": WORDS_OF_1,
    "serialized_tensors: nonsense": MORE,
    "examples_as_json: field": MORE,
    "examples_as_json: cut": MORE,
    "damaged_records: cut": RECORDS,
    "damaged_records: length": RECORDS,
    "damaged_records: data": RECORDS,
    "damaged_records: head": "an end within a head is an error, as within a record",
}


def program(function: Callable[[Any, Record], None]) -> Callable[[Any, Record], None]:
    """Add a program, under its function's name."""
    PROGRAMS[function.__name__] = function
    return function


def feature(tf: Any, values: Sequence[Any]) -> Any:
    """Return a feature of floats, integers or strings."""
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if values == () or (values and isinstance(values[0], bytes)):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(tf: Any, **features: Sequence[Any]) -> bytes:
    """Return the bytes of an Example."""
    named = {key: feature(tf, values) for key, values in features.items()}
    message = tf.train.Example(features=tf.train.Features(feature=named))
    content: bytes = message.SerializeToString()
    return content


def sequence(tf: Any, context: dict[str, Any], **lists: Sequence[Sequence[Any]]) -> bytes:
    """Return the bytes of a SequenceExample."""
    named = {key: feature(tf, values) for key, values in context.items()}
    steps = {
        key: tf.train.FeatureList(feature=[feature(tf, values) for values in rows])
        for key, rows in lists.items()
    }
    message = tf.train.SequenceExample(
        context=tf.train.Features(feature=named),
        feature_lists=tf.train.FeatureLists(feature_list=steps),
    )
    content: bytes = message.SerializeToString()
    return content


def keep(tf: Any, record: Record, key: str, tensors: Any) -> None:
    """Record the values of a dictionary of tensors, and their shapes in the graph."""
    for name, tensor in sorted(tensors.items()):
        record(f"{key} {name} shape", str(tensor.shape))
        record(f"{key} {name} dtype", tensor.dtype.name)
    with tf.Session() as session:
        for name, value in sorted(session.run(tensors).items()):
            parts = value if isinstance(value, tuple) else [value]
            record(f"{key} {name}", [np.asarray(part) for part in parts])


# -- Examples


@program
def batches(tf: Any, record: Record) -> None:
    examples = [
        example(tf, a=[1.0, 2.0], b=[5], c=[b"x", b"y"], rows=[1, 2, 3, 4]),
        example(tf, a=[3.0, 4.0], b=[-6], c=(), rows=[7, 8]),
        example(tf, a=[5.0, 6.0], b=[2**62], c=[b"z"]),
    ]
    features = {
        "a": tf.FixedLenFeature([2], tf.float32),
        "b": tf.FixedLenFeature([], tf.int64),
        "c": tf.VarLenFeature(tf.string),
        "rows": tf.FixedLenSequenceFeature([2], tf.int64, allow_missing=True),
        "none": tf.VarLenFeature(tf.float32),
    }
    keep(tf, record, "batch", tf.parse_example(examples, features))
    keep(tf, record, "one", tf.parse_single_example(examples[0], features))
    keep(tf, record, "named", tf.parse_single_example(examples[0], features, example_names="n"))
    keep(tf, record, "no rows", tf.parse_single_example(examples[2], features))
    keep(tf, record, "empty", tf.parse_example(tf.zeros([0], tf.string), features))


@program
def defaults(tf: Any, record: Record) -> None:
    examples = [example(tf, a=[1.0]), example(tf, b=[5, 6], s=[b"q"]), b""]
    features = {
        "a": tf.FixedLenFeature([], tf.float32, 7.5),
        "b": tf.FixedLenFeature([2], tf.int64, [3, 4]),
        "c": tf.FixedLenFeature([2, 1], tf.string, ["m", "n"]),
        "s": tf.FixedLenSequenceFeature([], tf.string, True, "pad"),
        "t": tf.FixedLenSequenceFeature([2], tf.float32, True, -1.0),
    }
    keep(tf, record, "batch", tf.parse_example(examples, features))
    keep(tf, record, "one", tf.parse_single_example(examples[1], features))


@program
def misfits(tf: Any, record: Record) -> None:
    one = example(tf, a=[1.0, 2.0], b=[5], c=[b"x"])
    wrong = {
        "missing": ("d", tf.FixedLenFeature([], tf.float32)),
        "missing text": ("d", tf.FixedLenFeature([], tf.string)),
        "missing int": ("d", tf.FixedLenFeature([2], tf.int64)),
        "dtype": ("a", tf.FixedLenFeature([2], tf.int64)),
        "dtype of text": ("c", tf.FixedLenFeature([], tf.float32)),
        "dtype of int": ("b", tf.FixedLenFeature([], tf.string)),
        "sparse dtype": ("a", tf.VarLenFeature(tf.string)),
        "count": ("a", tf.FixedLenFeature([3], tf.float32)),
        "count of int": ("b", tf.FixedLenFeature([2], tf.int64)),
        "count of text": ("c", tf.FixedLenFeature([2, 2], tf.string)),
        "rows": ("a", tf.FixedLenSequenceFeature([3], tf.float32, True)),
        "rows' dtype": ("a", tf.FixedLenSequenceFeature([2], tf.int64, True)),
    }
    with tf.Session() as session:
        for key, (name, kind) in wrong.items():
            many = tf.parse_example([one, one], {name: kind})
            record.error(key, lambda many=many: session.run(many))
            single = tf.parse_single_example(one, {name: kind})
            record.error(f"{key}, single", lambda single=single: session.run(single))
            named = tf.parse_example([one, one], {name: kind}, example_names=["m", "n"])
            record.error(f"{key}, named", lambda named=named: session.run(named))


@program
def bytes_that_are_none(tf: Any, record: Record) -> None:
    good = example(tf, a=[1.0, 2.0, 3.0], n=list(range(200)))
    features = {"a": tf.VarLenFeature(tf.float32), "n": tf.VarLenFeature(tf.int64)}
    source = tf.placeholder(tf.string, [None])
    many = tf.parse_example(source, features)
    with tf.Session() as session:
        for key, text in {
            "text": b"hello",
            "cut": good[:-1],
            "half": good[: len(good) // 2],
            "long": good + b"\x0a",
            "length": b"\x0a\xff\xff\xff\xff\x0f",
        }.items():
            record.error(key, lambda text=text: session.run(many, {source: [text]}))
        record("still there", session.run(many, {source: [good]})["a"].values)
        record.error("no rank", lambda: session.run(tf.parse_example(tf.constant(good), features)))


@program
def unusual_bytes(tf: Any, record: Record) -> None:
    def message(*fields: bytes) -> bytes:
        return b"".join(fields)

    def lengthy(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    def entry(name: bytes, value: bytes) -> bytes:
        return lengthy(1, lengthy(1, lengthy(1, name) + lengthy(2, value)))

    unpacked = lengthy(3, b"\x08\x05\x08\x96\x01")
    packed = lengthy(3, lengthy(1, b"\x07\x96\x01"))
    negative = lengthy(3, lengthy(1, b"\xff" * 9 + b"\x01"))
    floats = lengthy(2, b"\x0d\x00\x00\x80?\x0d\x00\x00\x00@")
    source = tf.placeholder(tf.string, [None])
    ints = tf.parse_example(source, {"a": tf.VarLenFeature(tf.int64)})
    numbers = tf.parse_example(source, {"a": tf.VarLenFeature(tf.float32)})
    with tf.Session() as session:
        for key, text in {
            "unpacked": entry(b"a", unpacked),
            "packed": entry(b"a", packed),
            "negative": entry(b"a", negative),
            "empty feature": entry(b"a", b""),
            "empty list": entry(b"a", lengthy(3, b"")),
            "empty run": entry(b"a", lengthy(3, lengthy(1, b""))),
            "twice": message(entry(b"a", unpacked), entry(b"a", packed)),
            "another twice": message(entry(b"b", unpacked), entry(b"a", packed)),
            "unknown fields": message(b"\x20\x05", entry(b"a", packed)),
        }.items():
            record(key, session.run(ints, {source: [text]})["a"].values)
        record("floats", session.run(numbers, {source: [entry(b"a", floats)]})["a"].values)


@program
def sparse_features(tf: Any, record: Record) -> None:
    examples = [
        example(tf, i=[3, 1], v=[30.0, 10.0], j=[0, 1]),
        example(tf, k=[1]),
        example(tf, i=[0], v=[5.0], j=[2]),
    ]
    one = tf.SparseFeature("i", "v", tf.float32, 5)
    keep(tf, record, "one", tf.parse_example(examples, {"s": one}))
    kept = {"s": one, "v": tf.VarLenFeature(tf.float32)}
    keep(tf, record, "with its values", tf.parse_example(examples, kept))
    several = tf.SparseFeature(["i", "j"], "v", tf.float32, [5, 3])
    keep(tf, record, "several", tf.parse_example(examples, {"s": several}))
    in_order = tf.SparseFeature("i", "v", tf.float32, 5, already_sorted=True)
    keep(tf, record, "sorted", tf.parse_example(examples[1:], {"s": in_order}))
    keep(tf, record, "single", tf.parse_single_example(examples[0], {"s": one}))


@program
def features_refused(tf: Any, record: Record) -> None:
    text = tf.constant(["x"])
    parse, fixed, rows = tf.parse_example, tf.FixedLenFeature, tf.FixedLenSequenceFeature
    for key, features in {
        "none": None,
        "empty": {},
        "no dtype": {"a": tf.VarLenFeature(None)},
        "fixed, no dtype": {"a": fixed([], None)},
        "no shape": {"a": fixed(None, tf.float32)},
        "open": {"a": fixed([None], tf.float32)},
        "open second": {"a": fixed([2, None], tf.float32)},
        "rows, not missing": {"a": rows([], tf.float32)},
        "rows, no dtype": {"a": rows([], None, True)},
        "rows, no shape": {"a": rows(None, tf.float32, True)},
        "no feature": {"a": 3},
        "no index": {"a": tf.SparseFeature(None, "v", tf.float32, 5)},
        "no value": {"a": tf.SparseFeature("i", None, tf.float32, 5)},
        "no dtype of sparse": {"a": tf.SparseFeature("i", "v", None, 5)},
        "contradiction": {
            "a": tf.SparseFeature("i", "v", tf.float32, 5),
            "v": tf.VarLenFeature(tf.string),
        },
        "default's shape": {"a": fixed([2], tf.float32, [1.0, 2.0, 3.0])},
        "default's dtype": {"a": fixed([], tf.float32, "x")},
    }.items():
        record.error(key, lambda features=features: sorted(parse(text, features)))
    record.error("vector", lambda: tf.parse_single_example(text, {"a": fixed([], tf.float32)}))
    record("tuple", list(fixed([2], tf.float32)))
    record("fields", [list(kind._fields) for kind in (fixed, rows, tf.SparseFeature)])


@program
def names_in_the_graph(tf: Any, record: Record) -> None:
    text = tf.placeholder(tf.string, [None], name="text")
    features = {
        "a": tf.FixedLenFeature([], tf.float32, 1.0),
        "b": tf.VarLenFeature(tf.int64),
        "c": tf.FixedLenSequenceFeature([], tf.int64, True),
    }
    parsed = tf.parse_example(text, features, name="parse")
    record("ops", sorted({tensor.op.type for tensor in parsed.values()}))
    record("inside", [tensor.op.name.split("/")[0] for _, tensor in sorted(parsed.items())])


# -- SequenceExamples


@program
def sequences(tf: Any, record: Record) -> None:
    examples = [
        sequence(tf, {"n": [1], "w": [b"p", b"q"]}, x=[[1.0, 2.0], [3.0, 4.0]], t=[[1], [2, 3]]),
        sequence(tf, {"n": [2]}, x=[[5.0, 6.0]], t=[[4], [], [5, 6, 7]]),
        sequence(tf, {"n": [3], "w": [b"r"]}, x=[]),
    ]
    context = {"n": tf.FixedLenFeature([], tf.int64), "w": tf.VarLenFeature(tf.string)}
    lists = {
        "x": tf.FixedLenSequenceFeature([2], tf.float32),
        "t": tf.VarLenFeature(tf.int64),
        "gone": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
    }
    for number, text in enumerate(examples):
        first, second = tf.parse_single_sequence_example(text, context, lists)
        keep(tf, record, f"context {number}", first)
        keep(tf, record, f"lists {number}", second)
    first, second, lengths = tf.io.parse_sequence_example(examples, context, lists)
    keep(tf, record, "contexts", first)
    keep(tf, record, "lists", second)
    keep(tf, record, "lengths", lengths)


@program
def sequences_refused(tf: Any, record: Record) -> None:
    text = sequence(tf, {"n": [1]}, x=[[1.0, 2.0], [3.0]], t=[[1], [2, 3]])
    wrong = {
        "missing": {"y": tf.FixedLenSequenceFeature([], tf.float32)},
        "count": {"x": tf.FixedLenSequenceFeature([2], tf.float32)},
        "dtype": {"x": tf.FixedLenSequenceFeature([2], tf.int64)},
        "sparse dtype": {"t": tf.VarLenFeature(tf.string)},
    }
    with tf.Session() as session:
        for key, lists in wrong.items():
            _, second = tf.parse_single_sequence_example(text, None, lists, example_name="mine")
            record.error(key, lambda second=second: session.run(second))
            _, second, _ = tf.io.parse_sequence_example([text], None, lists)
            record.error(f"{key}, batch", lambda second=second: session.run(second))
        context = {"m": tf.FixedLenFeature([], tf.int64)}
        first, _ = tf.parse_single_sequence_example(text, context)
        record.error("context", lambda: session.run(first))
        bad, _ = tf.parse_single_sequence_example(b"hello", context)
        record.error("no message", lambda: session.run(bad))
    record.error("nothing", lambda: tf.parse_single_sequence_example(text))
    record.error(
        "kind",
        lambda: tf.parse_single_sequence_example(
            text, None, {"x": tf.FixedLenFeature([], tf.float32)}
        ),
    )
    record.error(
        "context kind",
        lambda: tf.parse_single_sequence_example(
            text, {"x": tf.FixedLenSequenceFeature([], tf.float32)}
        ),
    )


# -- tensors as strings


@program
def serialized_tensors(tf: Any, record: Record) -> None:
    values: dict[str, Any] = {
        "matrix": np.array([[1, 2], [3, 4]], np.float32),
        "int": np.array(-3, np.int32),
        "texts": np.array([b"ab", b""], object),
        "empty": np.zeros([0, 2], np.float64),
        "bools": np.array([True, False]),
        "complex": np.array([1 + 2j], np.complex64),
        "half": np.array([0.5], np.float16),
        "bytes": np.array([200], np.uint8),
    }
    with tf.Session() as session:
        for key, value in values.items():
            text = session.run(tf.io.serialize_tensor(tf.constant(value)))
            record(key, text)
            dtype = tf.constant(value).dtype
            record(f"{key} again", session.run(tf.io.parse_tensor(text, dtype)))
            message = tf.make_tensor_proto(value).SerializeToString()
            record(f"{key} of a message", session.run(tf.io.parse_tensor(message, dtype)))
        text = session.run(tf.io.serialize_tensor(tf.constant(1)))
        record.error("dtype", lambda: session.run(tf.io.parse_tensor(text, tf.float32)))
        record.error("vector", lambda: session.run(tf.io.parse_tensor([text], tf.int32)))
        record.error("nonsense", lambda: session.run(tf.io.parse_tensor("xx", tf.int32)))


@program
def serialized_sparse_tensors(tf: Any, record: Record) -> None:
    numbers = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])
    texts = tf.SparseTensor([[0, 1], [2, 0]], ["ab", "c"], [3, 4])
    with tf.Session() as session:
        for key, tensor in {"numbers": numbers, "texts": texts}.items():
            record(f"{key}, one", session.run(tf.serialize_sparse(tensor)))
            many = session.run(tf.serialize_many_sparse(tensor))
            record(f"{key}, many", many)
            again = tf.deserialize_many_sparse(many, tensor.dtype, rank=2)
            record(f"{key}, shape", [str(again.shape), str(again.indices.shape)])
            record(f"{key}, again", list(session.run(again)))
            record.error(
                f"{key}, dtype",
                lambda many=many: session.run(tf.deserialize_many_sparse(many, tf.int32)),
            )
        vector = tf.SparseTensor([[0]], [1.0], [1])
        record.error("rank 1", lambda: session.run(tf.serialize_many_sparse(vector)))
        bad = np.array([[b"a", b"b", b"c"]], object)
        record.error("nonsense", lambda: session.run(tf.deserialize_many_sparse(bad, tf.int32)))
    record.error("dense", lambda: tf.serialize_sparse(3))
    record.error("many dense", lambda: tf.serialize_many_sparse(tf.constant(3)))


@program
def examples_as_json(tf: Any, record: Record) -> None:
    text = """{"features": {"feature": {
        "a": {"int64List": {"value": ["1", 2]}}, "f": {"float_list": {"value": [1.5, "NaN"]}},
        "b": {"bytesList": {"value": ["YWI="]}}}}}"""
    with tf.Session() as session:
        message = session.run(tf.io.decode_json_example(text))
        features = {"a": tf.VarLenFeature(tf.int64), "b": tf.VarLenFeature(tf.string)}
        keep(tf, record, "parsed", tf.parse_single_example(message, features))
        record("many", session.run(tf.io.decode_json_example(["{}", '{"features": {}}'])).shape)
        record.error("field", lambda: session.run(tf.io.decode_json_example('{"a": 1}')))
        record.error("cut", lambda: session.run(tf.io.decode_json_example("{")))


# -- files of records


@program
def record_files(tf: Any, record: Record) -> None:
    io = tf.python_io
    kinds = io.TFRecordCompressionType
    for number, options in enumerate(
        (None, io.TFRecordOptions(kinds.ZLIB), io.TFRecordOptions("GZIP"), io.TFRecordOptions(""))
    ):
        path = str(record.folder / f"records{number}")
        with io.TFRecordWriter(path, options=options) as writer:
            for length in (0, 3, 1000, 70_000):
                writer.write(b"x" * length)
            writer.flush()
        lengths = [len(text) for text in io.tf_record_iterator(path, options=options)]
        record(f"lengths {number}", lengths)
    record("plain", (record.folder / "records0").read_bytes()[:60])
    record("types", [kinds.NONE, kinds.ZLIB, kinds.GZIP])
    text = io.TFRecordOptions.get_compression_type_string
    record("texts", [text(None), text(kinds.GZIP), text("ZLIB"), text(io.TFRecordOptions(1))])
    record.error("kind", lambda: io.TFRecordOptions("BZIP"))
    missing = str(record.folder / "missing")
    record.error("missing", lambda: list(io.tf_record_iterator(missing)))
    record.error("folder", lambda: io.TFRecordWriter(str(record.folder / "none" / "file")))
    closed = io.TFRecordWriter(str(record.folder / "closed"))
    closed.close()
    record.error("closed", lambda: closed.write(b"x"))
    record.error("closed again", closed.close)


@program
def damaged_records(tf: Any, record: Record) -> None:
    io = tf.python_io
    path = record.folder / "records"
    with io.TFRecordWriter(str(path)) as writer:
        writer.write(b"abc")
        writer.write(b"defg")
    whole = path.read_bytes()
    for key, content in {
        "cut": whole[:-1],
        "length": whole[:8] + b"\0" + whole[9:],
        "data": whole[:13] + b"\0" + whole[14:],
        "head": whole[:25],
    }.items():
        path.write_bytes(content)
        record.error(key, lambda: list(io.tf_record_iterator(str(path))))


# -- readers


def closed_queue(tf: Any, session: Any, names: Sequence[str]) -> Any:
    """Return a queue of names that is closed."""
    queue = tf.FIFOQueue(max(len(names), 1), tf.string, shapes=[[]], name="names")
    session.run(queue.enqueue_many([list(names)]))
    session.run(queue.close())
    return queue


def read_all(tf: Any, record: Record, key: str, reader: Any, names: Sequence[str], n: int) -> None:
    """Record n reads of a reader, and then its numbers."""
    with tf.Session() as session:
        queue = closed_queue(tf, session, names)
        pair = reader.read(queue)
        record(f"{key} shapes", [str(part.shape) for part in pair])
        for number in range(n):
            record.error(f"{key} {number}", lambda: short(record, session.run(pair)))
        numbers = [reader.num_records_produced(), reader.num_work_units_completed()]
        record(f"{key} numbers", session.run(numbers))
        session.run(reader.reset())
        record(f"{key} after reset", session.run(numbers))


def short(record: Record, pair: Any) -> list[Any]:
    """Keys and values without the folder."""
    folder = str(record.folder).encode()
    return [
        [item.replace(folder, b"FOLDER") for item in np.ravel(np.asarray(part, object)).tolist()]
        for part in pair
    ]


def files(record: Record, **contents: bytes) -> list[str]:
    """New files with these contents; their paths."""
    for name, content in contents.items():
        (record.folder / name).write_bytes(content)
    return [str(record.folder / name) for name in contents]


@program
def lines(tf: Any, record: Record) -> None:
    names = files(record, a=b"h1\nl2\r\nl\r3\n\nlast", empty=b"", b=b"x\n")
    read_all(tf, record, "all", tf.TextLineReader(), names, 7)
    read_all(tf, record, "skipped", tf.TextLineReader(skip_header_lines=1), names, 5)
    read_all(tf, record, "far", tf.TextLineReader(9), names, 1)
    missing = [str(record.folder / "missing"), names[2]]
    with tf.Session() as session:
        pair = tf.TextLineReader().read(closed_queue(tf, session, missing))
        try:
            session.run(pair)
        except tf.errors.NotFoundError:
            record("missing", "NotFoundError")
        record("then", short(record, session.run(pair)))


@program
def records_up_to(tf: Any, record: Record) -> None:
    names = files(record, a=b"1\n2\n3\n4\n5\n", b=b"6\n")
    with tf.Session() as session:
        reader = tf.TextLineReader()
        pair = reader.read_up_to(closed_queue(tf, session, names), 3)
        record("shapes", [str(part.shape) for part in pair])
        for number in range(4):
            record.error(f"read {number}", lambda: short(record, session.run(pair)))
        record(
            "numbers",
            session.run([reader.num_records_produced(), reader.num_work_units_completed()]),
        )
        none = tf.TextLineReader().read_up_to(closed_queue(tf, session, names), 0)
        record("none", short(record, session.run(none)))


@program
def fixed_lengths(tf: Any, record: Record) -> None:
    plain, packed = files(record, a=b"HHabcdefghijFF", z=zlib.compress(b"HHabcdefghijFF"))
    kinds: list[dict[str, Any]] = [
        {"record_bytes": 4, "header_bytes": 2, "footer_bytes": 2},
        {"record_bytes": 4, "header_bytes": 2, "footer_bytes": 2, "hop_bytes": 2},
        {"record_bytes": 4, "header_bytes": 2, "footer_bytes": 2, "hop_bytes": 6},
        {"record_bytes": 20},
        {"record_bytes": 7},
    ]
    for number, sizes in enumerate(kinds):
        reader = tf.FixedLengthRecordReader(**sizes)
        read_all(tf, record, f"{number}", reader, [plain], 5)
        reader = tf.FixedLengthRecordReader(**sizes, encoding="ZLIB")
        read_all(tf, record, f"{number} packed", reader, [packed], 5)
    for key, sizes in {
        "header": {"record_bytes": 4, "header_bytes": -1},
        "footer": {"record_bytes": 4, "footer_bytes": -1},
        "hop": {"record_bytes": 4, "hop_bytes": -1},
    }.items():
        reader = tf.FixedLengthRecordReader(**sizes)
        with tf.Session() as session:
            record.error(key, lambda reader=reader: session.run(reader.num_records_produced()))


@program
def whole_files(tf: Any, record: Record) -> None:
    names = files(record, a=b"one\ntwo", b=b"")
    read_all(tf, record, "whole", tf.WholeFileReader(), names, 3)
    read_all(tf, record, "names", tf.IdentityReader(), ["x", "y"], 3)


@program
def records_of_files(tf: Any, record: Record) -> None:
    for kind in ("", "GZIP"):
        options = tf.python_io.TFRecordOptions(kind)
        path = str(record.folder / f"records{kind}")
        with tf.python_io.TFRecordWriter(path, options) as writer:
            for content in (b"abc", b"", b"defg"):
                writer.write(content)
        read_all(tf, record, f"records {kind}", tf.TFRecordReader(options=options), [path] * 2, 7)


@program
def states_of_readers(tf: Any, record: Record) -> None:
    names = ["x", "y", "z"]
    with tf.Session() as session:
        reader = tf.IdentityReader(name="mine")
        pair = reader.read(closed_queue(tf, session, names))
        record("first", session.run(pair))
        state = session.run(reader.serialize_state())
        record("state", state)
        record("second", session.run(pair))
        session.run(reader.restore_state(state))
        record("restored", session.run(reader.num_records_produced()))
        record.error("no state", lambda: session.run(reader.restore_state("xyz")))
        lines = tf.TextLineReader()
        record("supports", [reader.supports_serialize, lines.supports_serialize])
        record.error("of lines", lambda: session.run(lines.serialize_state()))
        record.error("to lines", lambda: session.run(lines.restore_state(state)))


@program
def queues_of_readers(tf: Any, record: Record) -> None:
    with tf.Session() as session:
        for key, types, element in (
            ("two", [tf.string, tf.string], ["a", "b"]),
            ("ints", [tf.int32], [1]),
            ("vectors", [tf.string], [["a", "b"]]),
        ):
            queue = tf.FIFOQueue(3, types)
            session.run(queue.enqueue(element))
            pair = tf.IdentityReader().read(queue)
            record.error(key, lambda pair=pair: session.run(pair))


@program
def a_pipeline_of_examples(tf: Any, record: Record) -> None:
    paths = []
    for number in range(3):
        paths.append(str(record.folder / f"shard{number}"))
        with tf.python_io.TFRecordWriter(paths[-1]) as writer:
            for value in range(4):
                writer.write(example(tf, x=[float(number), float(value)], y=[10 * number + value]))
    names = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
    _, text = tf.TFRecordReader().read(names)
    features = {
        "x": tf.FixedLenFeature([2], tf.float32), "y": tf.FixedLenFeature([], tf.int64),
    }  # fmt: skip
    parsed = tf.parse_single_example(text, features)
    x, y = tf.train.batch([parsed["x"], parsed["y"]], 5, allow_smaller_final_batch=True)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        for number in range(3):
            record(f"batch {number}", session.run([x, y]))
        record.error("end", lambda: type(session.run(y)))
        coordinator.request_stop()
        coordinator.join(threads)


# -- accumulators, staging areas, barriers


def of_data_flow(tf: Any, name: str) -> Any:
    """Return a class that only TensorFlow's module data_flow_ops has."""
    if tf.__name__ == "gpugraph":
        modules = ("gpugraph.ops.queues.staging_classes", "gpugraph.ops.queues.barrier")
    else:
        modules = ("tensorflow.python.ops.data_flow_ops",)
    loaded = [importlib.import_module(module) for module in modules]
    return next(getattr(module, name) for module in loaded if hasattr(module, name))


@program
def accumulators(tf: Any, record: Record) -> None:
    total = tf.ConditionalAccumulator(tf.float32, shape=[2], name="acc")
    step, gradient = tf.placeholder(tf.int64, []), tf.placeholder(tf.float32, [2])
    apply, count = total.apply_grad(gradient, step), total.num_accumulated()
    record("names", [total.name, count.name, total.dtype.name, str(total.take_grad(1).shape)])
    with tf.Session() as session:
        for values in ([1, 2], [1, 2], [3, 4]):
            session.run(apply, {step: 5, gradient: values})
        record("average", session.run(total.take_grad(2)))
        for number in (0, 1, 2):
            session.run(apply, {step: number, gradient: [1, 1]})
        record("count", session.run(count))
        session.run(total.set_global_step(7))
        session.run(apply, {step: 6, gradient: [1, 1]})
        record("too late", session.run(count))
        record.error("zero", lambda: session.run(total.take_grad(0)))
        added = tf.ConditionalAccumulator(tf.float32, shape=(), reduction_type="SUM")
        session.run(added.apply_grad(1.0))
        session.run(added.apply_grad(2.0))
        record("sum", session.run(added.take_grad(1)))
        fed = tf.placeholder(tf.float32)
        opened = tf.ConditionalAccumulator(tf.float32)
        session.run(opened.apply_grad(fed), {fed: [1, 2, 3]})
        record.error("another shape", lambda: session.run(opened.apply_grad(fed), {fed: [1, 2]}))
    record.error("shape", lambda: total.apply_grad([1.0, 2.0, 3.0]))
    record.error("dtype", lambda: total.apply_grad(tf.constant([1, 2])))


@program
def sparse_accumulators(tf: Any, record: Record) -> None:
    for reduction in ("MEAN", "SUM"):
        total = tf.SparseConditionalAccumulator(tf.float32, shape=[5, 2], reduction_type=reduction)
        with tf.Session() as session:
            session.run(total.apply_grad([0, 2], [[1.0, 1.0], [2.0, 2.0]]))
            session.run(total.apply_grad([2, 3], [[10.0, 10.0], [20.0, 20.0]], [5, 2]))
            record(reduction, list(session.run(total.take_grad(2))))
            record(f"{reduction} count", session.run(total.num_accumulated()))


@program
def staging_areas(tf: Any, record: Record) -> None:
    area = of_data_flow(tf, "StagingArea")(
        [tf.float32, tf.int32], shapes=[[], [2]], names=["a", "b"]
    )
    value = tf.placeholder(tf.float32, [])
    put, get = area.put({"a": value, "b": tf.constant([1, 2])}), area.get()
    record("names", [area.name, get["a"].name, str(get["b"].shape), area.size().name])
    with tf.Session() as session:
        for number in range(4):
            session.run(put, {value: number})
        record("size", session.run(area.size()))
        record("peek", session.run(area.peek(2)))
        record("get", [session.run(get), session.run(get)])
        session.run(area.clear())
        record("cleared", session.run(area.size()))
    record.error("no dictionary", lambda: area.put([tf.constant(1.0), tf.constant([1, 2])]))
    record.error("shape", lambda: area.put({"a": tf.ones([2]), "b": tf.constant([1, 2])}))


@program
def keyed_areas(tf: Any, record: Record) -> None:
    area = of_data_flow(tf, "MapStagingArea")(
        [tf.float32, tf.int32], shapes=[[], [2]], names=["a", "b"], ordered=True
    )

    def key(number: int) -> Any:
        return tf.constant(number, tf.int64)

    one, pair = tf.constant(1.0), tf.constant([1, 2])
    sizes = [area.size(), area.incomplete_size()]
    with tf.Session() as session:
        session.run(area.put(key(3), {"a": one, "b": pair}))
        session.run(area.put(key(1), {"a": one, "b": pair}))
        record("least", session.run(area.get()))
        record("of a key", session.run(area.get(key(3))))
        session.run(area.put(key(5), {"a": one}))
        record("a part", session.run(sizes))
        record.error("twice", lambda: session.run(area.put(key(5), {"a": one})))
        session.run(area.put(key(5), {"b": pair}))
        record("whole", session.run(sizes))
        record("peek", session.run(area.peek(key(5), indices=[1])))
        record("one of two", session.run(area.get(key(5), indices=[0])))
        record("the rest", session.run(area.get(key(5), indices=[1])))
        record("none", session.run(sizes))


@program
def barriers(tf: Any, record: Record) -> None:
    barrier = of_data_flow(tf, "Barrier")((tf.float32, tf.int32), shapes=((), (2,)), name="bar")
    take = barrier.take_many(2)
    record("names", [barrier.name, take[0].name, str(take[2][1].shape)])
    sizes = [barrier.ready_size(), barrier.incomplete_size()]
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["b", "a"], [1.0, 2.0]))
        session.run(barrier.insert_many(0, ["c"], [3.0]))
        record("parts", session.run(sizes))
        session.run(barrier.insert_many(1, ["c", "a"], [[1, 2], [3, 4]]))
        record("whole", session.run(sizes))
        indices, keys, values = session.run(list(take[:2]) + [list(take[2])])
        record("taken", [indices, keys, values])
        session.run(barrier.close())
        record.error("again", lambda: session.run(barrier.close()))
        session.run(barrier.insert_many(1, ["b"], [[5, 6]]))
        record.error("too many", lambda: session.run(take))
        few = barrier.take_many(2, allow_small_batch=True)
        record("few", session.run(few[2][1]))


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))

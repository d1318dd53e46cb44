"""Programs of feature columns, by TensorFlow and gpugraph.

    python ci/against_tensorflow/feature_columns.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, main, shapes

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)

EXPLAINED: dict[str, str] = {
    "keras_layers: no dict": "2.x and 1.15 print a tuple of the words and the value",
    "refused: in a run": "1.15 checks ids, 2.x does not",
    "training: threads left": "2.x keeps threads to read arrays",
}


def columns(tf: Any) -> dict[str, Any]:
    """Return a column of each kind, by name."""
    fc = tf.feature_column
    ones = tf.ones_initializer()
    words = fc.categorical_column_with_vocabulary_list("d", ["x", "y", "z"], num_oov_buckets=2)
    numbers = fc.categorical_column_with_identity("e", 5, default_value=1)
    buckets = fc.bucketized_column(fc.numeric_column("b"), [0.0, 1.0, 2.0])
    weighted = fc.weighted_categorical_column(words, "w")
    crossed = fc.crossed_column(["c", words, buckets], 20)
    hashed = fc.categorical_column_with_hash_bucket("c", 10)
    return {
        "numeric": fc.numeric_column("a", (2,), normalizer_fn=lambda x: x * 2.0),
        "buckets": buckets, "hashed": hashed, "words": words, "numbers": numbers,
        "integers": fc.categorical_column_with_hash_bucket("f", 7, tf.int64),
        "weighted": weighted, "crossed": crossed,
        "of crossed": fc.crossed_column([crossed, "c"], 30, hash_key=5),
        "embedding": fc.embedding_column(hashed, 3, initializer=ones),
        "sqrtn": fc.embedding_column(weighted, 2, "sqrtn", ones, max_norm=0.5),
        "indicator": fc.indicator_column(numbers),
        "weighted indicator": fc.indicator_column(weighted),
        "crossed indicator": fc.indicator_column(crossed),
    }  # fmt: skip


CATEGORICAL = (
    "hashed", "words", "numbers", "integers", "weighted", "crossed", "of crossed", "buckets",
)  # fmt: skip
DENSE = (
    "numeric", "buckets", "embedding", "sqrtn", "indicator", "weighted indicator",
    "crossed indicator",
)  # fmt: skip


def features(tf: Any) -> dict[str, Any]:
    """Return features of a batch of two examples, dense and sparse."""
    places = [[0, 0], [0, 1], [1, 0]]
    return {
        "a": tf.constant([[1.0, 2.0], [3.0, 4.0]]), "b": tf.constant([0.5, 7.0]),
        "c": tf.constant([["p", "q"], ["r", ""]]),
        "d": tf.SparseTensor(places, ["x", "other", "z"], [2, 2]),
        "w": tf.SparseTensor(places, [1.0, 2.0, 3.0], [2, 2]),
        "e": tf.constant([[0, 3], [9, -1]], tf.int64), "f": tf.constant([[5], [-1]]),
    }  # fmt: skip


def values(tf: Any, fetches: Any) -> Any:
    """Return values after the initialization of variables and tables."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


def variables(tf: Any, record: Record) -> None:
    """Record the names of all variables, of those to train and of those of models."""
    record("variables", [variable.name for variable in tf.global_variables()])
    record("trainable", [variable.name for variable in tf.trainable_variables()])
    record("model", [variable.name for variable in tf.get_collection("model_variables")])


@program
def input_layers(tf: Any, record: Record) -> None:
    kinds, owners, tensors = columns(tf), {}, {}  # type: ignore[var-annotated]
    chosen = [kinds[name] for name in DENSE]
    layer = tf.feature_column.input_layer(
        features(tf), chosen, cols_to_vars=owners, cols_to_output_tensors=tensors
    )
    again = tf.feature_column.input_layer(features(tf), kinds["embedding"], trainable=False)
    record("shapes", shapes([layer, again]))
    record("names", [layer.op.name, again.op.name])
    variables(tf, record)
    record("owners", {c.name: [v.name for v in vs] for c, vs in owners.items()})
    names = sorted((column.name, column) for column in tensors)
    record("tensors", [tensors[column].op.name for _, column in names])
    record("values", values(tf, [layer, again]))
    record("of columns", values(tf, [tensors[column] for _, column in names]))


@program
def linear_models(tf: Any, record: Record) -> None:
    kinds, owners = columns(tf), {}  # type: ignore[var-annotated]
    chosen = [kinds[name] for name in (*CATEGORICAL, "numeric", "embedding")]
    outputs = tf.feature_column.linear_model(features(tf), chosen, units=2, cols_to_vars=owners)
    mean = tf.feature_column.linear_model(features(tf), chosen[:3], sparse_combiner="mean")
    record("shapes", shapes([outputs, mean]))
    variables(tf, record)
    record("owners", {getattr(c, "name", c): [v.name for v in vs] for c, vs in owners.items()})
    gradients = tf.gradients(tf.reduce_sum(outputs * [1.0, 2.0]), tf.trainable_variables()[:5])
    dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
    record("gradients", values(tf, dense))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for number, variable in enumerate(tf.global_variables()):
            session.run(variable.assign(np.full(variable.shape.as_list(), 0.5 + number)))
        record("outputs", session.run([outputs, mean]))


@program
def shared_embeddings(tf: Any, record: Record) -> None:
    fc = tf.feature_column
    pair = [fc.categorical_column_with_identity(name, 5) for name in ("e", "f")]
    shared = fc.shared_embedding_columns(pair, 2, initializer=tf.ones_initializer())
    inputs = {"e": tf.constant([[1, 2]]), "f": tf.constant([[3]])}
    layer = fc.input_layer(inputs, shared)
    named = fc.shared_embedding_columns(pair, 3, shared_embedding_collection_name="mine")
    fc.input_layer(inputs, named)
    variables(tf, record)
    record("collection", [v.name for v in tf.get_collection("mine")])
    record("names", [column.name for column in shared])
    record("values", values(tf, layer))
    other = fc.categorical_column_with_identity("g", 6)
    record.error("buckets", lambda: fc.shared_embedding_columns([pair[0], other], 2))
    hashed = fc.categorical_column_with_hash_bucket("h", 5)
    record.error("kinds", lambda: fc.shared_embedding_columns([pair[0], hashed], 2))
    tf.add_to_collection("mine", tf.Variable(1.0))
    record.error("two variables", lambda: fc.input_layer(inputs, named))


@program
def features_to_parse(tf: Any, record: Record) -> None:
    fc, kinds = tf.feature_column, columns(tf)
    spec = fc.make_parse_example_spec([kinds[name] for name in (*DENSE, *CATEGORICAL)])
    record("spec", {key: str(spec[key]) for key in sorted(spec)})
    default = fc.numeric_column("n", (2, 2), default_value=[[1, 2], [3, 4]], dtype=tf.int64)
    record("default", str(fc.make_parse_example_spec([default])))
    int_column = fc.numeric_column("c")
    record.error("two kinds", lambda: fc.make_parse_example_spec([kinds["hashed"], int_column]))
    record.error("no column", lambda: fc.make_parse_example_spec(["c"]))
    feature = {
        "a": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0])),
        "c": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"p", b"q"])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    chosen = [kinds["numeric"], kinds["embedding"]]
    parsed = tf.parse_example([example], fc.make_parse_example_spec(chosen))
    record("parsed", values(tf, fc.input_layer(parsed, chosen)))


@program
def keras_layers(tf: Any, record: Record) -> None:
    kinds = columns(tf)
    layer = tf.keras.layers.DenseFeatures([kinds[name] for name in DENSE])
    outputs = layer(features(tf))
    record("shapes", shapes(outputs))
    record("names", [outputs.op.name, *(v.name for v in layer.variables)])
    record("values", values(tf, outputs))
    record("config", [c["class_name"] for c in layer.get_config()["feature_columns"]])
    record.error("categorical", lambda: tf.keras.layers.DenseFeatures([kinds["words"]]))
    record.error("no dict", lambda: tf.keras.layers.DenseFeatures([kinds["numeric"]])([1.0]))
    config = tf.keras.layers.DenseFeatures([kinds["embedding"], kinds["indicator"]]).get_config()
    with tf.Graph().as_default():
        restored = tf.keras.layers.DenseFeatures.from_config(config)
        record("restored", values(tf, restored(features(tf))))


@program
def training(tf: Any, record: Record) -> None:
    fc = tf.feature_column
    rng = np.random.RandomState(0)
    x = {"x": rng.rand(64, 2).astype(np.float32), "k": rng.choice([0, 1, 2], 64)}
    y = (x["x"][:, 0] > 0.5).astype(np.float32)
    ids = fc.categorical_column_with_identity("k", 3)
    chosen = [
        fc.numeric_column("x", (2,)), fc.embedding_column(ids, 2, initializer=tf.ones_initializer())
    ]  # fmt: skip
    model = tf.keras.Sequential(
        [
            tf.keras.layers.DenseFeatures(chosen),
            tf.keras.layers.Dense(1, kernel_initializer="ones", activation="sigmoid"),
        ]
    )
    model.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0).history
    record("losses", [float(loss) for loss in history["loss"]])
    record("predictions", model.predict(x)[:4])
    record("evaluation", [float(value) for value in model.evaluate(x, y, verbose=0)])


@program
def sequences(tf: Any, record: Record) -> None:
    fc = tf.feature_column
    ids = fc.sequence_categorical_column_with_identity("s", 4)
    words = fc.sequence_categorical_column_with_vocabulary_list("t", ["a", "b"])
    numbers = fc.sequence_numeric_column("n", (2,))
    inputs = {
        "s": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0, 1, 3], [3, 2]),
        "t": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "c", "b"], [3, 2]),
        "n": tf.SparseTensor(
            [[0, 0], [0, 1], [0, 2], [0, 3], [2, 0], [2, 1]], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3, 4]
        ),
    }
    layer = tf.keras.experimental.SequenceFeatures(
        [
            fc.embedding_column(ids, 2, initializer=tf.ones_initializer()),
            fc.indicator_column(words),
            numbers,
        ]
    )
    outputs, lengths = layer(inputs)
    record("shapes", shapes([outputs, lengths]))
    record("values", values(tf, [outputs, lengths]))
    record("names", [variable.name for variable in layer.variables])
    plain = fc.indicator_column(fc.categorical_column_with_identity("s", 4))
    record.error("no sequence", lambda: tf.keras.experimental.SequenceFeatures([plain])(inputs))
    dense = fc.embedding_column(ids, 2)
    record.error("a sequence", lambda: tf.keras.layers.DenseFeatures([dense])(inputs))
    record.error("in input_layer", lambda: fc.input_layer(inputs, [dense]))


@program
def refused(tf: Any, record: Record) -> None:
    fc, kinds = tf.feature_column, columns(tf)
    record.error("shape", lambda: fc.numeric_column("a", (0,)))
    record.error("sizes", lambda: fc.numeric_column("a", (1.5,)))
    record.error("dtype", lambda: fc.numeric_column("a", dtype=tf.string))
    record.error("default", lambda: fc.numeric_column("a", (2,), default_value=[1.0]))
    record.error("default's dtype", lambda: fc.numeric_column("a", default_value="x"))
    record.error("normalizer", lambda: fc.numeric_column("a", normalizer_fn=3))
    record.error("key", lambda: fc.numeric_column(3))
    number = fc.numeric_column("a")
    record.error("boundaries", lambda: fc.bucketized_column(number, [1.0, 0.0]))
    record.error("no boundaries", lambda: fc.bucketized_column(number, []))
    record.error("source", lambda: fc.bucketized_column(kinds["words"], [1.0]))
    record.error("axes", lambda: fc.bucketized_column(fc.numeric_column("a", (2, 2)), [1.0]))
    record.error("buckets", lambda: fc.categorical_column_with_hash_bucket("a", 0))
    record.error("bucket dtype", lambda: fc.categorical_column_with_hash_bucket("a", 2, tf.float32))
    words = fc.categorical_column_with_vocabulary_list
    record.error("no words", lambda: words("a", []))
    record.error("equal words", lambda: words("a", ["x", "x"]))
    record.error("word dtype", lambda: words("a", ["x"], dtype=tf.int32))
    record.error("both", lambda: words("a", ["x"], default_value=0, num_oov_buckets=1))
    record.error("no file", lambda: fc.categorical_column_with_vocabulary_file("a", ""))
    record.error("missing", lambda: fc.categorical_column_with_vocabulary_file("a", "/no/file"))
    record.error("ids", lambda: fc.categorical_column_with_identity("a", 0))
    record.error("default id", lambda: fc.categorical_column_with_identity("a", 2, 2))
    record.error("weights", lambda: fc.weighted_categorical_column(kinds["words"], "w", tf.string))
    record.error("one key", lambda: fc.crossed_column(["a"], 10))
    record.error("key's kind", lambda: fc.crossed_column(["a", 3], 10))
    record.error("hashed key", lambda: fc.crossed_column(["a", kinds["hashed"]], 10))
    record.error("size of hash", lambda: fc.crossed_column(["a", "b"], 0))
    record.error("dimension", lambda: fc.embedding_column(kinds["words"], 0))
    record.error("initializer", lambda: fc.embedding_column(kinds["words"], 2, initializer=3))
    record.error(
        "checkpoint", lambda: fc.embedding_column(kinds["words"], 2, ckpt_to_load_from="x")
    )
    layer = fc.input_layer
    record.error("no columns", lambda: layer(features(tf), []))
    record.error("a dict", lambda: layer(features(tf), {"a": number}))
    record.error("an object", lambda: layer(features(tf), ["a"]))
    record.error("categories", lambda: layer(features(tf), [kinds["words"]]))
    record.error("twice", lambda: layer(features(tf), [number, fc.numeric_column("a")]))
    record.error("unknown", lambda: layer({"z": tf.constant([1.0])}, [number]))
    record.error("a scalar", lambda: layer({"a": tf.constant(1.0)}, [number]))
    record.error("sparse", lambda: layer({"a": features(tf)["w"]}, [number]))
    two = {"a": tf.ones([2, 1]), "z": tf.ones([3, 1])}
    record.error("batches", lambda: layer(two, [number, fc.numeric_column("z")]))
    record.error("floats", lambda: fc.linear_model({"e": tf.ones([2])}, [kinds["numbers"]]))
    record.error("ints", lambda: fc.linear_model({"c": tf.constant([[1]])}, [kinds["hashed"]]))
    ids = fc.indicator_column(fc.categorical_column_with_identity("e", 5))
    outside = layer({"e": tf.constant([[7]])}, [ids])
    record.error("in a run", lambda: values(tf, outside))


@program
def files(tf: Any, record: Record) -> None:
    fc = tf.feature_column
    path = record.folder / "words"
    path.write_text("x\ny\nz\n")
    column = fc.categorical_column_with_vocabulary_file("d", str(path), num_oov_buckets=1)
    inputs = features(tf)
    record("values", values(tf, fc.input_layer(inputs, [fc.indicator_column(column)])))
    with tf.variable_scope("old"):
        table = tf.get_variable("t", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
    with tf.Session() as session:
        session.run(table.initializer)
        saved = tf.train.Saver([table]).save(session, str(record.folder / "model"))
    loaded = fc.embedding_column(column, 2, ckpt_to_load_from=saved, tensor_name_in_ckpt="old/t")
    record("restored", values(tf, fc.input_layer(inputs, [loaded])))


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))

"""Feature columns: values beside NumPy, names of variables, sequences, refused arguments.

ci/against_tensorflow/feature_columns.py compares 98 answers with TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

fc = tf.feature_column
SPARSE = [[0, 0], [0, 1], [1, 0]]


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    """Each test has a graph of its own."""
    with tf.Graph().as_default():
        yield


def values(fetches: Any) -> Any:
    """Return values after the initialization of variables and tables."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


def words() -> Any:
    """Return a sparse feature of words, the second of which is in no vocabulary."""
    return tf.SparseTensor(SPARSE, ["x", "other", "z"], [2, 2])


def test_numbers_are_normalized_and_reshaped() -> None:
    column = fc.numeric_column("a", (2, 2), normalizer_fn=lambda x: x * 10.0)
    layer = fc.input_layer({"a": tf.constant([[[1.0, 2.0], [3.0, 4.0]]])}, column)
    assert values(layer).tolist() == [[10.0, 20.0, 30.0, 40.0]]


def test_buckets_are_between_boundaries() -> None:
    column = fc.bucketized_column(fc.numeric_column("a"), (0.0, 1.0))
    layer = fc.input_layer({"a": tf.constant([-1.0, 0.0, 1.0])}, column)
    np.testing.assert_array_equal(values(layer), np.eye(3))


def test_columns_stand_in_the_order_of_their_names() -> None:
    columns = [fc.numeric_column("b"), fc.numeric_column("a")]
    layer = fc.input_layer({"a": tf.constant([1.0]), "b": tf.constant([2.0])}, columns)
    assert values(layer).tolist() == [[1.0, 2.0]]


def test_words_are_ids_or_buckets() -> None:
    column = fc.categorical_column_with_vocabulary_list("d", ["x", "y", "z"], num_oov_buckets=1)
    layer = fc.input_layer({"d": words()}, fc.indicator_column(column))
    assert values(layer).tolist() == [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]


def test_weights_are_added_by_category() -> None:
    column = fc.categorical_column_with_vocabulary_list("d", ["x", "y", "z"])
    weights = tf.SparseTensor(SPARSE, [0.5, 2.0, 3.0], [2, 2])
    weighted = fc.weighted_categorical_column(column, "w")
    model: dict[Any, Any] = {}
    features = {"d": words(), "w": weights}
    outputs = fc.linear_model(features, weighted, cols_to_vars=model)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(model[weighted][0].assign([[1.0], [10.0], [100.0]]))
        session.run(model["bias"][0].assign([7.0]))
        assert session.run(outputs).tolist() == [[7.5], [307.0]]


def test_crossed_features_are_all_pairs() -> None:
    crossed = fc.crossed_column(["a", "b"], 1000)
    features = {"a": tf.constant([["p", "q"]]), "b": tf.constant([["r", "s", ""]])}
    layer = fc.input_layer(features, fc.indicator_column(crossed))
    expected = tf.sparse.cross_hashed([features["a"], features["b"]], 1000)
    found, ids = values([layer, expected.values])
    assert sorted(np.flatnonzero(found)) == sorted(ids)


@pytest.mark.parametrize(("combiner", "divisor"), [("sum", 1.0), ("mean", 2.0), ("sqrtn", 2**0.5)])
def test_embeddings_are_combined(combiner: str, divisor: float) -> None:
    ids = fc.categorical_column_with_identity("e", 3)
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
    column = fc.embedding_column(
        ids, 2, combiner, initializer=lambda shape, dtype, partition_info=None: table
    )
    layer = fc.input_layer({"e": tf.constant([[0, 2], [-1, -1]])}, column)
    expected = [(table[0] + table[2]) / divisor, [0.0, 0.0]]
    np.testing.assert_allclose(values(layer), expected, rtol=1e-6)
    assert [v.op.name for v in tf.global_variables()] == [
        "input_layer/e_embedding/embedding_weights"
    ]


def test_shared_embeddings_have_one_variable() -> None:
    pair = [fc.categorical_column_with_identity(name, 3) for name in ("e", "f")]
    shared = fc.shared_embedding_columns(pair, 2, initializer=tf.ones_initializer())
    features = {"e": tf.constant([0]), "f": tf.constant([1])}
    assert values(fc.input_layer(features, shared)).tolist() == [[1.0] * 4]
    assert [v.op.name for v in tf.global_variables()] == [
        "input_layer/e_f_shared_embedding/embedding_weights"
    ]


def test_a_file_of_words(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("x\nz\n")
    column = fc.categorical_column_with_vocabulary_file("d", str(path))
    layer = fc.input_layer({"d": words()}, fc.indicator_column(column))
    assert values(layer).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_sequences_of_ids_and_numbers() -> None:
    ids = fc.sequence_categorical_column_with_identity("s", 3)
    columns = [fc.indicator_column(ids), fc.sequence_numeric_column("n")]
    features = {
        "s": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 1, 2], [2, 2]),
        "n": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0.5, 1.5, 2.5], [2, 2]),
    }
    expected = [[[0.5, 1, 0, 0], [1.5, 0, 1, 0]], [[2.5, 0, 0, 1], [0, 0, 0, 0]]]
    for layer in (
        tf.keras.experimental.SequenceFeatures(columns),
        lambda x: tf.contrib.feature_column.sequence_input_layer(x, columns),
    ):
        outputs, lengths = values(layer(features))
        assert outputs.tolist() == expected
        assert lengths.tolist() == [2, 1]


def test_sequences_of_different_lengths_end_the_run() -> None:
    columns = [fc.sequence_numeric_column("m"), fc.sequence_numeric_column("n")]
    features = {
        "m": tf.SparseTensor([[0, 0]], [1.0], [1, 2]),
        "n": tf.SparseTensor([[0, 0], [0, 1]], [1.0, 2.0], [1, 2]),
    }
    layer, _ = tf.contrib.feature_column.sequence_input_layer(features, columns)
    lengths = tf.keras.experimental.SequenceFeatures(columns)(features)[1]
    assert layer.shape.as_list()[2] == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        values(lengths)


def test_ids_out_of_range_end_the_run_or_become_the_default() -> None:
    features = {"e": tf.constant([[7]])}
    strict = fc.indicator_column(fc.categorical_column_with_identity("e", 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="exceeds number of buckets"):
        values(fc.input_layer(features, strict))
    lenient = fc.indicator_column(fc.categorical_column_with_identity("e", 2, 1))
    assert values(fc.input_layer(features, lenient)).tolist() == [[0.0, 1.0]]


def test_examples_are_parsed_by_the_spec_of_columns() -> None:
    columns = [
        fc.numeric_column("a", default_value=3.0),
        fc.indicator_column(fc.categorical_column_with_vocabulary_list("c", ["p", "q"])),
    ]
    words = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"q"]))
    example = tf.train.Example(features=tf.train.Features(feature={"c": words}))
    spec = fc.make_parse_example_spec(columns)
    parsed = tf.parse_example([example.SerializeToString()], spec)
    assert values(fc.input_layer(parsed, columns)).tolist() == [[3.0, 0.0, 1.0]]


def test_a_column_of_the_older_generation_works_in_the_newer_ones() -> None:
    from gpugraph.tensorflow_import import private_feature_columns as private  # noqa: PLC0415

    class Reversed(private._CategoricalColumn):
        """The ids of a feature from the last one on, by the older methods alone."""

        name = "reversed"
        _num_buckets = 3

        def _transform_feature(self, inputs: Any) -> Any:
            return tf.contrib.layers.dense_to_sparse(2 - inputs.get("e"), -1)

        def _get_sparse_tensors(self, inputs: Any, **_: Any) -> Any:
            return self.IdWeightPair(inputs.get(self), None)

    column = fc.indicator_column(Reversed())
    assert not private.is_feature_column_v2([column])
    layer = fc.input_layer({"e": tf.constant([[0], [1]])}, column)
    assert values(layer).tolist() == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


def test_a_sequential_model_of_features_learns() -> None:
    rng = np.random.RandomState(0)
    x = {"x": rng.rand(64, 2).astype(np.float32), "k": rng.choice([0, 1], 64)}
    y = np.float32((x["x"][:, 0] > 0.5) ^ (x["k"] == 1))
    ids = fc.categorical_column_with_identity("k", 2)
    columns = [fc.numeric_column("x", (2,)), fc.embedding_column(ids, 2)]
    model = tf.keras.Sequential(
        [
            tf.keras.layers.DenseFeatures(columns),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(tf.keras.optimizers.Adam(0.05), "binary_crossentropy")
    losses = model.fit(x, y, epochs=40, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < 0.3 < losses[0]


def test_configurations_make_equal_columns() -> None:
    ids = fc.categorical_column_with_identity("e", 5)
    columns = [
        fc.bucketized_column(fc.numeric_column("b", dtype=tf.float64), [0.0, 1.0]),
        fc.indicator_column(fc.crossed_column(["c", ids], 7)),
    ]
    config = tf.keras.layers.DenseFeatures(columns).get_config()
    assert tf.keras.layers.DenseFeatures.from_config(config)._feature_columns == columns


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: fc.numeric_column("a", (0,)), ValueError, "shape dimensions must be greater than"),
        (lambda: fc.numeric_column(3), ValueError, "key must be a string"),
        (lambda: fc.crossed_column(["a"], 3), ValueError, "keys must be a list with length > 1"),
        (
            lambda: fc.embedding_column(fc.categorical_column_with_identity("a", 2), 0),
            ValueError,
            "Invalid dimension 0",
        ),
        (lambda: fc.input_layer({}, {}), ValueError, "Expected feature_columns to be iterable"),
        (
            lambda: fc.input_layer({"b": tf.constant([1.0])}, fc.numeric_column("a")),
            ValueError,
            r"Feature a is not in features dictionary. Its features are \['b'\]",
        ),
        (
            lambda: fc.categorical_column_with_vocabulary_list("a", ["x", "x"]),
            ValueError,
            "Duplicate keys in vocabulary_list",
        ),
    ],
)
def test_wrong_arguments_are_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()

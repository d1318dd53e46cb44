"""Vocabularies: words to numbers, and numbers to words."""

from __future__ import annotations

import pytest

import gpugraph as tf

lookup = tf.contrib.lookup


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("emerson\nlake\npalmer\n")
    return str(path)


def run(fetches):
    with tf.Session() as session:
        session.run(tf.initialize_all_tables())
        return session.run(fetches)


def test_words_of_a_file(path):
    words = tf.constant([["lake", "king"]])
    plain = lookup.index_table_from_file(path, default_value=7).lookup(words)
    older = lookup.string_to_index_table_from_file(path, vocab_size=1).lookup(words)
    buckets = lookup.index_table_from_file(path, num_oov_buckets=4)
    expected = 3 + tf.strings.to_hash_bucket_fast(words, 4)
    results = run([plain, older, buckets.lookup(words), expected, buckets.size()])
    assert results[0].tolist() == [[1, 7]] and results[1].tolist() == [[-1, -1]]
    assert results[2].tolist() == [[1, results[3][0, 1]]] and results[4] == 7


def test_words_of_a_tensor():
    words = tf.constant(["b", "z"])
    tables = [
        lookup.index_table_from_tensor(["a", "b"]),
        lookup.string_to_index_table_from_tensor(tf.constant(["a", "b"])),
    ]
    found = [table.lookup(words) for table in tables]
    found.append(lookup.string_to_index(words, tf.constant(["a", "b"])))
    numbers = lookup.index_table_from_tensor([10, 20], dtype=tf.int64)
    found.append(numbers.lookup(tf.constant([20, 30], tf.int64)))
    assert [result.tolist() for result in run(found)] == [[1, -1]] * 4


def test_numbers_to_words(path):
    numbers = tf.constant([2, 9], tf.int64)
    found = [
        lookup.index_to_string_table_from_file(path).lookup(numbers),
        lookup.index_to_string_table_from_tensor(["x", "y", "z"], "?").lookup(numbers),
        lookup.index_to_string(numbers, ["x", "y", "z"]),
    ]
    expected = [[b"palmer", b"UNK"], [b"z", b"?"], [b"z", b"UNK"]]
    assert [result.tolist() for result in run(found)] == expected


def test_columns_of_a_file(tmp_path):
    path = tmp_path / "columns.txt"
    path.write_text("7,seven\n8,eight\n")
    options = {"key_column_index": 1, "value_column_index": 0, "delimiter": ","}
    table = lookup.index_table_from_file(str(path), **options)
    assert run(table.lookup(tf.constant(["eight", "nine"]))).tolist() == [8, -1]


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: lookup.index_table_from_file(None), ValueError, "vocabulary_file must be spec"),
        (lambda: lookup.index_table_from_file("x", -1), ValueError, "num_oov_buckets must be"),
        (lambda: lookup.index_table_from_file("x", vocab_size=0), ValueError, "vocab_size must"),
        (lambda: lookup.index_table_from_file("x", key_dtype=tf.float32), TypeError, "Only integ"),
        (lambda: lookup.index_table_from_tensor(None), ValueError, "mapping must be specified"),
        (lambda: lookup.index_table_from_tensor([1]), ValueError, "Expected non-integer, got"),
        (lambda: lookup.index_table_from_tensor(["a"], -1), ValueError, "num_oov_buckets must be"),
        (lambda: lookup.string_to_index_table_from_tensor([1]), ValueError, "requires string"),
        (lambda: lookup.index_to_string_table_from_file(""), ValueError, "must not be empty"),
        (lambda: lookup.index_to_string_table_from_tensor(None), ValueError, "must be specified"),
    ],
)
def test_what_is_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()

"""Tables from text files: columns, lines, numbers of lines, and files that can't be trusted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf

WHOLE, NUMBER = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
WORDS = tf.string, WHOLE, tf.int64, NUMBER
"""The arguments of a table from lines to their numbers."""


def content(path, *arguments, **options):
    """Return the contents of a table from a file, as a dict."""
    default = "?" if arguments[2] == tf.string else -1
    with tf.Graph().as_default(), tf.Session() as session:
        initializer = tf.lookup.TextFileInitializer(str(path), *arguments, **options)
        table = tf.lookup.StaticHashTable(initializer, default)
        session.run(table.initializer)
        return dict(zip(*(part.tolist() for part in session.run(table.export())), strict=True))


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(b"emerson\nlake\r\npalmer")
    return path


@pytest.fixture
def columns(tmp_path):
    path = tmp_path / "columns.txt"
    path.write_text("a\t1\t0.5\nb\t-2\tx\n")
    return path


def test_lines_and_columns(words, columns):
    assert content(words, *WORDS) == {b"emerson": 0, b"lake": 1, b"palmer": 2}
    assert content(words, tf.int64, NUMBER, tf.string, WHOLE)[1] == b"lake"
    assert content(words, *WORDS, vocab_size=2) == {b"emerson": 0, b"lake": 1}
    assert content(columns, tf.string, 0, tf.int64, 1) == {b"a": 1, b"b": -2}
    assert content(columns, tf.string, 0, tf.float32, 2, vocab_size=1) == {b"a": 0.5}
    assert content(words, tf.string, 1, tf.string, 0, delimiter="e", vocab_size=1) == {b"m": b""}


@pytest.mark.parametrize(
    "text, arguments, words",
    [
        ("a\nb\n", (*WORDS, 3), "Invalid vocab_size in .* expected 3 but got 2"),
        ("a\n\nb", WORDS, r"Invalid content in .* empty line found at position 3\. It is line 1"),
        ("a\t1\nb", (tf.string, 0, tf.int64, 1), r"line 1 \(b\) : expected at least 2 got 1"),
        ("a\t1x", (tf.string, 0, tf.int64, 1), "Field 1x in line 0 is not a valid int64"),
        ("a\t1_0", (tf.string, 0, tf.int64, 1), "Field 1_0 in line 0 is not a valid int64"),
        (f"a\t{2**63}", (tf.string, 0, tf.int64, 1), "is not a valid int64"),
        (f"a\t{'9' * 9999}", (tf.string, 0, tf.int32, 1), "is not a valid int32"),
        ("a\tz", (tf.string, 0, tf.float32, 1), "Field z in line 0 is not a valid float"),
        ("a", (tf.string, 0, tf.int64, NUMBER, None, "ab"), "delimiter should be only 1 char"),
    ],
)
def test_files_that_do_not_fit(tmp_path, text, arguments, words):
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        content(path, *arguments)


def test_a_line_that_comes_twice(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("a\nb\na")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Key a has 0 and trying to add"):
        content(path, *WORDS)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        content(tmp_path / "none", *WORDS)
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        content(tmp_path, *WORDS)


@settings(max_examples=30, deadline=None)
@given(lines=st.lists(st.binary(max_size=12), max_size=6), size=st.integers(-1, 5))
def test_any_bytes_are_a_table_or_an_error(tmp_path_factory, lines, size):
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(b"\n".join(lines))
    try:
        table = content(path, *WORDS, vocab_size=size if size > 0 else None)
    except tf.errors.OpError:
        return
    kept = [line.replace(b"\r", b"") for line in path.read_bytes().split(b"\n")]
    assert list(table) == kept[: len(table)]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("", *WORDS), "Filename required"),
        (("x", tf.string, -3, tf.int64, NUMBER), "Invalid key index -3"),
        (("x", tf.string, WHOLE, tf.int64, -3), "Invalid value index -3"),
        (("x", tf.string, NUMBER, tf.int64, NUMBER), "Keys must be dtype <dtype: 'int64'>"),
        (("x", tf.float32, WHOLE, tf.int64, NUMBER), "Keys must be integer or string"),
        (("x", tf.string, WHOLE, tf.int32, NUMBER), "Values must be dtype <dtype: 'int64'>"),
        (("x", tf.string, WHOLE, tf.float32, WHOLE), "Values must be dtype <dtype: 'string'>"),
        (("x", *WORDS, 0), "Invalid vocab_size 0"),
    ],
)
def test_arguments_that_do_not_fit(arguments, words):
    with pytest.raises(ValueError, match=words):
        tf.lookup.TextFileInitializer(*arguments)


def test_what_a_file_adds_to_the_graph(words):
    with tf.Graph().as_default():
        path = tf.placeholder(tf.string, [])
        for filename in (str(words), path):
            initializer = tf.lookup.TextFileInitializer(filename, *WORDS)
            table = tf.lookup.StaticHashTable(initializer, -1)
        (asset,) = tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
        assert asset.op.name == "asset_path"
        with tf.Session() as session:
            session.run(table.initializer, {path: str(words)})
            assert session.run(table.size()) == 3


def test_a_saved_model_has_its_files(words, tmp_path):
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        keys = tf.placeholder(tf.string, [None])
        found = tf.contrib.lookup.index_table_from_file(str(words)).lookup(keys)
        session.run(tf.tables_initializer())
        tf.saved_model.simple_save(
            session, folder, {"keys": keys}, {"found": found}, tf.tables_initializer()
        )
    words.unlink()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], folder)
        assert session.run(found.name, {keys.name: ["lake", "king"]}).tolist() == [1, -1]

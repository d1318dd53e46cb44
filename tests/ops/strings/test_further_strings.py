"""Strings cut into sparse tensors and transcoded, edit distances, sparse tensors of new shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetch, feeds=None):
    with tf.Session() as session:
        return session.run(fetch, feeds)


def rows_of(value):
    """Return the parts of each row of a sparse value."""
    rows = [[] for _ in range(value.dense_shape[0])]
    for (row, _), part in zip(value.indices.tolist(), value.values.tolist()):
        rows[row].append(part)
    return rows


def test_strings_are_cut_at_any_delimiter_or_at_each_separator():
    result = run(tf.string_split(["a b", "", "c  d"]))
    assert rows_of(result) == [[b"a", b"b"], [], [b"c", b"d"]]
    assert result.dense_shape.tolist() == [3, 2]
    assert rows_of(run(tf.string_split(["a,b;", "x"], ",;", False))) == [[b"a", b"b", b""], [b"x"]]
    assert rows_of(run(tf.string_split(["abc"], delimiter=""))) == [[b"a", b"b", b"c"]]
    assert rows_of(run(tf.strings.split([" a  b ", ""]))) == [[b"a", b"b"], []]
    assert rows_of(run(tf.strings.split(["a,b,c"], ",", maxsplit=1))) == [[b"a", b"b,c"]]
    named = (
        tf.string_split(["a"], name="cut").values.op.name,
        tf.strings.split(["a"], name="at").op.name,
    )
    assert named == ("cut/StringSplit", "at/StringSplitV2")


@given(st.lists(st.text(alphabet="ab, ")), st.sampled_from([" ", ",", "ab", ""]))
def test_strings_are_cut_as_python_cuts_them(words, separator):
    with tf.Graph().as_default():
        result = run(tf.strings.split(np.array(words, object), separator))
    wanted = [word.split(separator or None) for word in words]
    assert rows_of(result) == [[part.encode() for part in row] for row in wanted]


@pytest.mark.parametrize("cut", [tf.string_split, tf.strings.split])
def test_what_can_not_be_cut_is_refused(cut):
    with pytest.raises(ValueError):
        cut([["a"]])
    with pytest.raises(NotImplementedError, match="ragged"):
        cut(["a"], result_type="RaggedTensor")
    with pytest.raises(ValueError, match="result_type"):
        cut(["a"], result_type="tensor")
    with pytest.raises(ValueError, match="either"):
        tf.strings.split(["a"], source=["a"])


def test_strings_are_transcoded_or_refused():
    texts = [b"a\xff", "ä\x01".encode()]
    result = run(tf.strings.unicode_transcode(texts, "UTF-8", "UTF-16-BE"))
    assert result.tolist() == ["a\ufffd".encode("utf-16-be"), "ä\x01".encode("utf-16-be")]
    for options, says in (
        ({"errors": "strict"}, "Invalid formatting"),
        ({"input_encoding": "klingon"}, "input encoding: klingon"),
        ({"replacement_char": -1}, "no Unicode character"),
    ):
        attrs = {"input_encoding": "UTF-8", "output_encoding": "UTF-8", **options}
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            run(tf.strings.unicode_transcode(texts, **attrs))
    for options in ({"errors": "other"}, {"output_encoding": "UTF-7"}):
        attrs = {"input_encoding": "UTF-8", "output_encoding": "UTF-8", **options}
        with pytest.raises(ValueError, match="of 'UnicodeTranscode' Op passed string"):
            tf.strings.unicode_transcode(texts, **attrs)


def test_half_characters_are_never_written():
    for text, source in ((b"\xed\xa0\x80", "UTF-8"), (b"\xd8\x00", "UTF-16-BE")):
        for target in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
            tensor = tf.strings.unicode_transcode(text, source, target, replacement_char=0xD800)
            assert set(run(tensor).decode(target)) == {"\ufffd"}
    result = tf.strings.unicode_transcode(b"+2AA-", "UTF-7", "UTF-8")
    assert set(run(result).decode()) == {"\ufffd"}


@pytest.mark.parametrize("encoding", ["rot13", "hex", "undefined"])
def test_codecs_of_other_things_than_texts_are_refused(encoding):
    tensor = tf.strings.unicode_transcode("a", encoding, "UTF-8")
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"input encoding: {encoding}"):
        run(tensor)


# -- edit distances


def sparse(rows, shape=None):
    """Return a SparseTensor of rows of values."""
    indices = [
        [row_index, place] for row_index, row in enumerate(rows) for place in range(len(row))
    ]
    values = [value for row in rows for value in row]
    shape = shape or [len(rows), max(map(len, rows))]
    return tf.SparseTensor(np.array(indices, np.int64).reshape(-1, 2), values, shape)


def test_edit_distances_are_normalized_by_the_truth():
    one, other = sparse([["a"], ["b", "c"]]), sparse([["a", "b"], ["c"]])
    assert run(tf.edit_distance(one, other)).tolist() == [0.5, 1]
    assert run(tf.edit_distance(one, other, normalize=False)).tolist() == [1, 1]
    assert tf.edit_distance(one, other).shape == [2]
    assert tf.edit_distance(one, other, name="near").op.name == "near"
    empty = run(tf.edit_distance(sparse([[1.0], []]), sparse([[], []], [2, 1])))
    assert empty.tolist() == [np.inf, 0]


def test_edit_distances_of_what_does_not_fit_are_refused():
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        tf.edit_distance([1], sparse([[1]]))
    cases = [
        (sparse([[1, 2]], [1, 1]), sparse([[1]]), "outside of the shape"),
        (tf.SparseTensor([[0]], [1], [1]), sparse([[1]]), "same rank"),
        (tf.SparseTensor([[0]], [1], [1]), tf.SparseTensor([[0]], [1], [1]), "at least 2"),
    ]
    for one, other, says in cases:
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            run(tf.edit_distance(one, other))


# -- shapes


def test_a_dimension_is_added_anywhere():
    source = sparse([[1, 2, 3], [4]])
    dense = run(tf.sparse.to_dense(source))
    for axis in (None, 0, 1, 2, -1, -2, -3):
        tensor = tf.sparse.expand_dims(source, axis)
        wanted = np.expand_dims(dense, -1 if axis is None else axis)
        assert run(tf.sparse.to_dense(tensor)).tolist() == wanted.tolist()
        assert tensor.shape.as_list() == [*wanted.shape]
    with pytest.raises(ValueError, match="axis 3 is not in"):
        tf.sparse.expand_dims(source, 3)
    with pytest.raises(ValueError, match="known rank"):
        tf.sparse.expand_dims(tf.sparse_placeholder(tf.int32))


@pytest.mark.parametrize("sizes", [(3, None), (2, 4), (4, 2)])
def test_identity_matrices(sizes):
    result = run(tf.sparse.to_dense(tf.sparse.eye(*sizes, dtype=tf.int32)))
    assert result.tolist() == np.eye(*sizes).tolist()
    sized = tf.sparse.eye(tf.placeholder_with_default(sizes[0], []), name="one")
    assert run(tf.sparse.to_dense(sized)).tolist() == np.eye(sizes[0]).tolist()
    assert sized.op.name == "one/ones"


def test_shapes_are_reset_to_the_smallest_or_a_larger_one():
    source = tf.SparseTensor([[0, 1], [1, 0]], [1, 2], [4, 5])
    assert run(tf.sparse_reset_shape(source)).dense_shape.tolist() == [2, 2]
    assert run(tf.sparse_reset_shape(source, [4, 6])).dense_shape.tolist() == [4, 6]
    nothing = tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0), [4, 5])
    assert run(tf.sparse_reset_shape(nothing)).dense_shape.tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"\[4, 4\].*\[4, 5\]"):
        tf.sparse_reset_shape(source, [4, 4])
    with pytest.raises(ValueError):
        tf.sparse_reset_shape(source, [4, 5, 6])
    fed = tf.sparse_placeholder(tf.int32)
    value = tf.SparseTensorValue([[0, 1]], [1], [2, 3])
    assert run(tf.sparse_reset_shape(fed, [2, 4]), {fed: value}).dense_shape.tolist() == [2, 4]
    for shape, says in (([2, 2], "nowhere smaller"), ([2], "rank")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            run(tf.sparse_reset_shape(fed, shape), {fed: value})


def test_ids_say_where_values_are():
    ids = sparse([[3], [2, 0]])
    values = sparse([[1.0], [2.0, 3.0]])
    merged = tf.sparse_merge(ids, values, 5)
    assert run(tf.sparse.to_dense(merged)).tolist() == [[0, 0, 0, 1, 0], [3, 0, 2, 0, 0]]
    assert merged.shape.as_list() == [2, 5]
    unsorted = run(tf.sparse_merge(ids, values, 5, already_sorted=True))
    assert unsorted.indices.tolist() == [[0, 3], [1, 2], [1, 0]]
    both = run(tf.sparse.to_dense(tf.sparse_merge([ids, ids], values, [5, 4])))
    assert [array.tolist() for array in np.nonzero(both)] == [[0, 1, 1], [3, 0, 2], [3, 0, 2]]
    for arguments, error in (
        (([ids], values, 5), TypeError),
        ((ids, values, [5]), TypeError),
        (([ids], values, [5, 6]), ValueError),
        ((values, values, 5), TypeError),
    ):
        with pytest.raises(error):
            tf.sparse_merge(*arguments)


def test_rows_are_masked_out():
    rows = tf.IndexedSlices(
        tf.constant([[1], [2], [3]]), tf.constant([4, 5, 7]), tf.constant([9, 1])
    )
    result = tf.sparse_mask(rows, [5, 8])
    assert [array.tolist() for array in run([result.values, result.indices])] == [
        [[1], [3]],
        [4, 7],
    ]
    assert result.dense_shape is rows.dense_shape
    assert tf.sparse.mask is tf.sparse_mask

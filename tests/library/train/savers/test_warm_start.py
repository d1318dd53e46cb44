"""Models that begin with another model's checkpoint, and matrices by vocabularies."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops

MATRIX = np.arange(6.0, dtype=np.float32).reshape(3, 2)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a checkpoint of `v`, a matrix with rows for a, b, c and columns for x,
    y.
    """
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(MATRIX, name="v")
        tf.Variable([1.0], name="w")
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "model"), write_meta_graph=False)
    files = {"old": "a b c", "new": "c d a", "old_columns": "x y", "new_columns": "y z x"}
    for name, words in {**files, "twice": "a a"}.items():
        (tmp_path / name).write_text(words.replace(" ", "\n") + "\n")
    (tmp_path / "empty_line").write_text("a\n\nb\n")
    return tmp_path


def variable(name, shape, **options):
    return tf.get_variable(name, shape, initializer=tf.ones_initializer(), **options)


def values(*tensors):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [value.tolist() for value in sess.run([tf.convert_to_tensor(t) for t in tensors])]


def sevens(shape, dtype=None, partition_info=None):
    return tf.fill(shape, 7.0)


def vocabulary(folder, axis=0, **options):
    new, old = ("new", "old") if axis == 0 else ("new_columns", "old_columns")
    options.setdefault("num_oov_buckets", 0)
    return tf.train.VocabInfo(
        str(folder / new), 3, old_vocab=str(folder / old), axis=axis, **options
    )


def test_trainable_variables_by_a_pattern(folder):
    v, w = variable("v", (3, 2)), variable("w", (1,))
    tf.train.warm_start(str(folder), "v")
    assert values(v, w) == [MATRIX.tolist(), [1]]


@pytest.mark.parametrize("by", ["scopes", "variables"])
def test_listed_variables_and_names_of_before(folder, by):
    step, again = variable("step", (3, 2), trainable=False), variable("again", (3, 2))
    wanted = ["step", "again"] if by == "scopes" else [step, again]
    names = {"step": "v", "again": "v"}
    tf.train.warm_start(str(folder), wanted, var_name_to_prev_var_name=names)
    assert values(step, again) == [MATRIX.tolist()] * 2


@pytest.mark.parametrize("resource", [False, True])
def test_rows_follow_a_vocabulary(folder, resource):
    v = variable("v", (5, 2), use_resource=resource)
    info = vocabulary(folder, num_oov_buckets=2, backup_initializer=sevens)
    tf.train.warm_start(str(folder), var_name_to_vocab_info={"v": info})
    assert values(v) == [[[4, 5], [7, 7], [0, 1], [7, 7], [7, 7]]]


def test_columns_follow_a_vocabulary(folder):
    v = variable("v", (3, 4))
    info = vocabulary(folder, 1, num_oov_buckets=1, backup_initializer=sevens)
    tf.train.warm_start(str(folder), None, var_name_to_vocab_info={"v": info})
    assert values(v) == [[[1, 7, 0, 7], [3, 7, 2, 7], [5, 7, 4, 7]]]


def test_parts_have_their_rows(folder):
    v = tf.get_variable("v", (5, 2), partitioner=lambda **_: [2, 1])
    info = vocabulary(folder, num_oov_buckets=2, old_vocab_size=2)
    tf.train.warm_start(str(folder), var_name_to_vocab_info={"v": info})
    assert values(v) == [[[0, 0], [0, 0], [0, 1], [0, 0], [0, 0]]]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"vars_to_warm_start": 3}, "must be a `list` or `str`"),
        ({"vars_to_warm_start": [3, "v"]}, "must be all `Variable` or all `str`"),
        ({"var_name_to_prev_var_name": {"z": "v"}}, "in var_name_to_prev_var_name that were not"),
        ({"var_name_to_vocab_info": {"z": 1}}, "in var_name_to_vocab_info that were not used"),
        ({"vars_to_warm_start": ["nope"]}, "Tensor nope is not found"),
    ],
)
def test_what_is_not_used_or_there_is_refused(folder, arguments, text):
    variable("v", (3, 2))
    tf.Variable(0.0, name="nope", trainable=False)
    with pytest.raises(ValueError, match=text):
        tf.train.warm_start(str(folder), **arguments)


def test_sizes_that_do_not_fit_are_refused(folder):
    variable("v", (4, 2))
    with pytest.raises(ValueError, match="Trying to initialize 4 additional rows after 0 rows"):
        tf.train.warm_start(str(folder), var_name_to_vocab_info={"v": vocabulary(folder)})


@pytest.mark.parametrize(
    ("new", "old", "attrs", "error", "text"),
    [
        ("new", "old", {"new_vocab_offset": 1}, "InvalidArgumentError", "lookup table size must"),
        ("new", "old", {"old_vocab_size": 5}, "InvalidArgumentError", "Invalid vocab_size in"),
        ("new", "twice", {}, "FailedPreconditionError", "different value for same key. Key a"),
        ("empty_line", "old", {}, "InvalidArgumentError", "empty line found at position 2"),
        ("none", "old", {}, "NotFoundError", "none"),
    ],
)
def test_bad_vocabularies_fail_the_run(folder, new, old, attrs, error, text):
    attrs = {"new_vocab_offset": 0, "num_new_vocab": 3, **attrs}
    rows, _ = raw_ops.GenerateVocabRemapping(str(folder / new), str(folder / old), **attrs)
    with tf.Session() as sess, pytest.raises(getattr(tf.errors, error), match=text):
        sess.run(rows)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"rows": [2, -1]}, "InvalidArgumentError", "contained 0 elements, but more missing"),
        ({"values": [1.0]}, "InvalidArgumentError", "contained 1 elements, but only 0 elements"),
        ({"rows": [0, 5]}, "InternalError", "Extent in dimension 0 out of bounds"),
        ({"rows": [0, 0]}, "UnimplementedError", "Old ID 0 is mapped to both new ID 0 and 1"),
        ({"rows": [0]}, "InvalidArgumentError", "Size of row_remapping is 1 instead of"),
        ({"columns": [0]}, "InvalidArgumentError", "Provided col_remapping, but its size is 1"),
        ({"name": "w"}, "InvalidArgumentError", r"Tensor w has shape \[1\] of invalid rank 1"),
        ({"name": "z"}, "NotFoundError", "z"),
        ({"num_cols": 3}, "InvalidArgumentError", "2nd dimension is 2 instead of"),
    ],
)
def test_matrices_that_do_not_fit_fail_the_run(folder, options, error, text):
    given = {"name": "v", "rows": [0, 1], "columns": [], "values": [], "num_cols": 2, **options}
    matrix = raw_ops.LoadAndRemapMatrix(
        str(folder / "model"),
        given["name"],
        np.array(given["rows"], np.int64),
        np.array(given["columns"], np.int64),
        np.array(given["values"], np.float32),
        num_rows=2,
        num_cols=given["num_cols"],
    )
    with tf.Session() as sess, pytest.raises(getattr(tf.errors, error), match=text):
        sess.run(matrix)


def test_initializers_of_contrib(folder):
    framework, path = tf.contrib.framework, str(folder / "model")
    files = str(folder / "old"), str(folder / "new")
    embeddings = framework.load_embedding_initializer(path, "v", 3, 2, *files)
    info = tf.contrib.framework.load_variable_slot_initializer(
        path, "v", None, 3, 2, -1, *files, initializer=sevens
    )
    first = tf.get_variable("a", (3, 2), initializer=embeddings)
    second = tf.get_variable("b", (3, 2), initializer=info)
    rows, slot = values(first, second)
    assert [rows[0], rows[2]] == [[4, 5], [0, 1]]
    assert slot == [[4, 5], [7, 7], [0, 1]]
    with pytest.raises(ValueError, match="Expected 2nd dim of shape"):
        framework.load_linear_multiclass_bias_initializer(path, "v", 3, *files)((3, 2))
    with pytest.raises(TypeError, match="initializer must be callable"):
        framework.load_and_remap_matrix_initializer(path, "v", 3, 2, initializer=3)

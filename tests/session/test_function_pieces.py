"""Functions that are cut into pieces return the values and the errors of whole ones."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.datasets.elements import stage
from gpugraph.session import graph_functions
from gpugraph.session.function_pieces import pieces_of, whole_function
from tests.library.data.test_row_forms import outcomes

D = tf.data.Dataset
NUMBERS = np.arange(12)
TEXTS = np.array(["a b", "", "c d e", "f"] * 3, object)
IMAGES = np.random.default_rng(0).integers(0, 256, [12, 9, 8, 3]).astype(np.uint8)


@pytest.fixture(autouse=True)
def _graph(monkeypatch):
    monkeypatch.setattr(stage, "rows_of", lambda *args: None)
    with tf.Graph().as_default():
        yield


def found(make):
    """Return the elements and errors of a dataset in a graph of its own."""
    with tf.Graph().as_default():
        return outcomes(make())


def _words(text):
    return tf.string_split([text]).values


def _mask(number):
    numbers = tf.range(8)
    return tf.boolean_mask(numbers, numbers < tf.cast(number % 5, tf.int32))


def _checked(number):
    with tf.control_dependencies([tf.assert_less(number, tf.constant(9, tf.int64))]):
        return tf.fill([number % 4], number) * 2


def _joined(text):
    words = tf.strings.join([_words(text), "!"])
    return tf.strings.reduce_join([words], 1), tf.strings.length(text), tf.constant(3)


def _random_part(number):
    drawn = tf.random.uniform([4], maxval=9, dtype=tf.int32, seed=2)
    return tf.boolean_mask(drawn, drawn > 2), drawn, tf.random.normal([], seed=5)


def _cropped(image):
    flipped = tf.image.random_flip_left_right(image, seed=1)
    return tf.random_crop(flipped, [4, 5, 3], seed=2), tf.shape(image)


CASES = {
    "words": (TEXTS, _words, 1),
    "hashed words": (TEXTS, lambda t: tf.strings.to_hash_bucket_fast(_words(t), 9) + 1, 2),
    "filled": (NUMBERS, lambda n: tf.fill([n % 4], n) * 2 + tf.cast(tf.shape(n)[:0], tf.int64), 2),
    "masked": (NUMBERS, lambda n: (_mask(n), tf.reduce_sum(_mask(n))), 2),
    "checked": (NUMBERS, _checked, 1),
    "joined": (TEXTS, _joined, 3),
    "random": (NUMBERS, _random_part, 2),
    "cropped": (IMAGES, _cropped, 2),
    "a part": (IMAGES, lambda i: tf.slice(i, tf.cast([i[0, 0, 0] % 3, 1, 0], tf.int32), [2, -1, 1]),
               1),
    "outside": (NUMBERS, lambda n: tf.slice(tf.range(5), [tf.cast(n, tf.int32)], [2]), 1),
    "unique": (NUMBERS, lambda n: tf.unique(tf.stack([n % 3, n % 2, n]))[0] * n, 2),
    "branches": (NUMBERS, lambda n: tf.cond(n > 3, lambda: tf.fill([n], n), lambda: n[None]), 1),
}  # fmt: skip


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("name", CASES)
def test_cut_functions(name, calls, monkeypatch):
    rows, function, _ = CASES[name]
    cut = found(lambda: D.from_tensor_slices(rows).map(function, calls))
    whole = [False]

    def as_one(graph):
        whole[0] = True
        return [whole_function(graph)]

    monkeypatch.setattr(graph_functions, "pieces_of", as_one)
    assert cut == found(lambda: D.from_tensor_slices(rows).map(function, calls))
    assert whole[0] and len(cut) == len(rows)


@pytest.mark.parametrize("name", CASES)
def test_number_of_pieces(name, monkeypatch):
    counts = []

    def counted(graph):
        pieces = pieces_of(graph)
        counts.append(len(pieces))
        return pieces

    monkeypatch.setattr(graph_functions, "pieces_of", counted)
    rows, function, least = CASES[name]
    outcomes(D.from_tensor_slices(rows[:1]).map(function))
    assert max(counts) >= least


def test_an_error_names_the_node_and_the_line():
    dataset = D.from_tensor_slices(np.array(["1", "2", "x"], object))
    dataset = dataset.map(lambda t: tf.strings.to_number(_words(t), tf.int64, name="number"))
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following).tolist() for _ in range(2)] == [[1], [2]]
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(following)
    assert "number" in str(caught.value) and __file__ in str(caught.value)


def test_a_small_part_does_not_keep_the_whole():
    source = np.zeros([40, 40, 3], np.uint8)
    array = graph_functions._without_large_base(source[:3, :3])
    assert array.base is None
    assert graph_functions._without_large_base(source[:30]).base is source


def test_positions_of_random_pieces(tmp_path):
    iterator = D.range(9).map(_random_part).make_initializable_iterator()
    following = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])

    def read(session, count):
        return [[part.tolist() for part in session.run(following)] for _ in range(count)]

    with tf.Session() as session:
        session.run(iterator.initializer)
        read(session, 4)
        path = saver.save(session, str(tmp_path / "position"))
        rest = read(session, 5)
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert read(session, 5) == rest


# -- functions that return datasets

DATASETS = {
    "repeated": lambda n: D.from_tensors(n).repeat(2),
    "slices": lambda n: D.from_tensor_slices(tf.stack([n, n + 1])).skip(1),
    "ranges": lambda n: D.range(n, n + 3).batch(2),
    "mapped": lambda n: D.range(2).map(lambda m: m + n),
    "zipped": lambda n: D.zip((D.range(2), D.from_tensors(n).repeat())).filter(
        lambda a, b: tf.less(a, b)
    ),
    "nested": lambda n: D.range(2).flat_map(lambda m: D.from_tensors(n * m)).take(3),
    "random": lambda n: D.from_tensors(n + tf.random.uniform([], 0, 9, tf.int64, seed=1)),
}


@pytest.mark.parametrize("name", DATASETS)
def test_functions_that_return_datasets(name, monkeypatch):
    direct = found(lambda: D.range(6).flat_map(DATASETS[name]))
    mixed = found(lambda: D.range(6).interleave(DATASETS[name], 3, 2))
    plans = []
    monkeypatch.setattr(stage, "dataset_plan_of", lambda graph: plans.append(graph))
    assert direct == found(lambda: D.range(6).flat_map(DATASETS[name]))
    assert mixed == found(lambda: D.range(6).interleave(DATASETS[name], 3, 2))
    assert plans and direct

"""Data sets of texts as lists of word indices: film reviews (IMDB) and news (Reuters)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from gpugraph.library.keras.datasets.image_sets import ORIGIN, Sets, shuffled
from gpugraph.library.keras.datasets.plain_pickles import load_arrays
from gpugraph.library.keras.inputs.cached_files import get_file
from gpugraph.platform import logging


def _encoded(
    texts: Any,
    labels: Any,
    num_words: int | None,
    skip_top: int,
    maxlen: int | None,
    start_char: int | None,
    oov_char: int | None,
    index_from: int,
) -> tuple[list[Any], list[Any]]:
    """Return the texts with the indices of kept words. `index_from` is added to each index, and
    `start_char` is put before each text.
    """
    first = [] if start_char is None else [start_char]
    texts = [first + [word + index_from for word in text] for text in texts]
    labels = list(labels)
    if maxlen:
        pairs = [pair for pair in zip(texts, labels) if len(pair[0]) < maxlen]
        if not pairs:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was "
                "kept. Increase maxlen."
            )
        texts, labels = [text for text, _ in pairs], [label for _, label in pairs]
    limit = num_words or max(max(text) for text in texts)

    def kept(text: list[int]) -> list[int]:
        if oov_char is None:
            return [word for word in text if skip_top <= word < limit]
        return [word if skip_top <= word < limit else oov_char for word in text]

    return [kept(text) for text in texts], labels


def _as_array(texts: list[Any]) -> Any:
    """Return an array whose elements are lists, even if all lists have the same length."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def load_imdb(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Sets:
    """Return the IMDB data set of film reviews as ((x_train, y_train), (x_test, y_test)). x is an
    array of lists of word indices, and y is 1 for positive reviews and 0 for negative reviews.

    Raises FileNotFoundError if the file is missing. This function sets the seed of `np.random`.

    Args:
      path: the file's name in ~/.keras/datasets, or its path.
      num_words: how many of the most frequent words to keep.
      skip_top: how many of the most frequent words to omit.
      maxlen: reviews with this number of indices or more are omitted.
      seed: the seed with which the reviews are shuffled.
      start_char: the index that starts each review.
      oov_char: the index that replaces omitted words. If it is None, these words are removed.
      index_from: the number that is added to the indices of the file.
      kwargs: `nb_words`, an older name of `num_words`.
    """
    if "nb_words" in kwargs:
        logging.warning("The `nb_words` argument in `load_data` has been renamed `num_words`.")
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    arrays = load_arrays(get_file(path, ORIGIN + "imdb.npz"))
    train = shuffled(arrays["x_train"], arrays["y_train"], seed)
    test = shuffled(arrays["x_test"], arrays["y_test"])
    texts, labels = (np.concatenate(parts) for parts in zip(train, test))
    options = num_words, skip_top, maxlen, start_char, oov_char, index_from
    xs, ys = _encoded(texts, labels, *options)
    count = len(train[0])
    return (
        (_as_array(xs[:count]), np.array(ys[:count])),
        (_as_array(xs[count:]), np.array(ys[count:])),
    )


def load_reuters(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Sets:
    """Return the Reuters data set of news as ((x_train, y_train), (x_test, y_test)). x is an array
    of lists of word indices, and y is an array of topics.

    Raises FileNotFoundError if the file is missing. This function sets the seed of `np.random`.

    Args:
      path: the file's name in ~/.keras/datasets, or its path.
      num_words: how many of the most frequent words to keep.
      skip_top: how many of the most frequent words to omit.
      maxlen: texts with this number of indices or more are omitted.
      test_split: the fraction of the texts that are in the test set.
      seed: the seed with which the texts are shuffled.
      start_char: the index that starts each text.
      oov_char: the index that replaces omitted words. If it is None, these words are removed.
      index_from: the number that is added to the indices of the file.
      kwargs: `nb_words`, an older name of `num_words`.
    """
    if "nb_words" in kwargs:
        logging.warning("The `nb_words` argument in `load_data` has been renamed `num_words`.")
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    arrays = load_arrays(get_file(path, ORIGIN + "reuters.npz"))
    texts, labels = shuffled(arrays["x"], arrays["y"], seed)
    options = num_words, skip_top, maxlen, start_char, oov_char, index_from
    xs, ys = _encoded(texts, labels, *options)
    count = int(len(xs) * (1 - test_split))
    return (
        (_as_array(xs[:count]), np.array(ys[:count])),
        (_as_array(xs[count:]), np.array(ys[count:])),
    )


def imdb_words(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Return the dict from words to their indices in the IMDB data set. Raises FileNotFoundError if
    the file is missing.
    """
    return _words(path, "imdb_word_index.json")


def reuters_words(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Return the dict from words to their indices in the Reuters data set. Raises FileNotFoundError
    if the file is missing.
    """
    return _words(path, "reuters_word_index.json")


def _words(path: str, name: str) -> dict[str, int]:
    with open(get_file(path, ORIGIN + name), encoding="utf-8") as file:
        return json.load(file)

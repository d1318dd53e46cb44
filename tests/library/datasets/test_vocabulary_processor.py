"""Texts as rows of word ids."""

from __future__ import annotations

import importlib
from pathlib import Path

import gpugraph as tf
from gpugraph.library.datasets.vocabulary_processor import (
    CategoricalVocabulary,
    VocabularyProcessor,
)

TEXTS = ["the cat sat", "the dog isn't a cat", "a-b c"]


def test_rows_of_ids(tmp_path: Path) -> None:
    processor = VocabularyProcessor(4)
    rows = [row.tolist() for row in processor.fit_transform(TEXTS)]
    assert rows == [[1, 2, 3, 0], [1, 4, 5, 6], [7, 8, 0, 0]]
    assert len(processor.vocabulary_) == 9
    assert [row.tolist() for row in processor.transform(["the bird sat"])] == [[1, 0, 3, 0]]
    assert list(processor.reverse(rows[:1])) == ["the cat sat <UNK>"]
    processor.save(str(tmp_path / "vocab"))
    restored = VocabularyProcessor.restore(str(tmp_path / "vocab"))
    assert [row.tolist() for row in restored.transform(TEXTS)] == rows


def test_rare_words_are_dropped() -> None:
    processor = VocabularyProcessor(3, min_frequency=1)
    rows = [row.tolist() for row in processor.fit_transform(TEXTS)]
    assert rows == [[2, 1, 0], [2, 0, 0], [0, 0, 0]]
    assert processor.vocabulary_._mapping == {"<UNK>": 0, "cat": 1, "the": 2}


def test_vocabularies_freeze() -> None:
    vocabulary = CategoricalVocabulary()
    assert vocabulary.get("a") == 1
    vocabulary.freeze()
    assert vocabulary.get("b") == 0


def test_programs_find_it() -> None:
    with tf.as_tensorflow():
        learn = importlib.import_module("tensorflow.contrib").learn
        assert learn.preprocessing.VocabularyProcessor is VocabularyProcessor

"""`tf.contrib.learn.preprocessing.VocabularyProcessor`: converts texts to rows of word ids."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each text."""
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """Words and their ids, in the order in which they were added. The id 0 means the unknown
    word.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._mapping = {unknown_token: 0}
        self._reverse_mapping = [unknown_token]
        self._counts: Counter[str] = Counter()
        self._frozen = False

    def __len__(self) -> int:
        """Return the number of words, including the unknown word."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Set whether the vocabulary is frozen. `get` adds no words to a frozen vocabulary."""
        self._frozen = freeze

    def get(self, category: str) -> int:
        """Return the id of a word.

        A new word gets the next id, or 0 if the vocabulary is frozen.
        """
        if category not in self._mapping:
            if self._frozen:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: str, count: int = 1) -> None:
        """Increase the count of a word. A new word gets an id unless the vocabulary is frozen."""
        if self.get(category) > 0:
            self._counts[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Remove rare words, and sort the remaining words by frequency, the most frequent first.

        Args:
          min_frequency: words that were counted at most this often are removed.
          max_frequency: if `max_frequency` is positive, words that were counted at least this often
            are also removed.
        """
        ordered = sorted(sorted(self._counts.items(), key=lambda pair: pair[0]), key=_rarity)
        kept = [
            (word, count)
            for word, count in ordered
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        ]
        self._reverse_mapping = [self._unknown_token, *(word for word, _ in kept)]
        self._mapping = {word: number for number, word in enumerate(self._reverse_mapping)}
        self._counts = Counter(dict(kept))

    def reverse(self, class_id: int) -> str:
        """Return the word with the id `class_id`. Raises ValueError if the vocabulary was created
        without `support_reverse`.
        """
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse=True.")
        return self._reverse_mapping[class_id]


def _rarity(pair: tuple[str, int]) -> int:
    return -pair[1]


class VocabularyProcessor:
    """Converts texts to rows of word ids.

    Rows are truncated, or filled with 0, to the length `max_document_length`.

    Args:
      min_frequency: words that occur at most this often are removed.
      vocabulary: a CategoricalVocabulary.
      tokenizer_fn: a function that receives texts and yields a list of words for each.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[Any], unused_y: Any = None) -> VocabularyProcessor:
        """Learn the words of the texts. After that, the vocabulary is frozen."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[Any], unused_y: Any = None) -> Iterator[Any]:
        """Learn the words of a list of texts, and yield their rows."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[Any]) -> Iterator[Any]:
        """Yield the row of each text, an int64 array."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, word in zip(range(self.max_document_length), words):
                row[place] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yield the text of each row, with spaces between the words."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(class_id) for class_id in row)

    def save(self, filename: str) -> None:
        """Write this processor to a file as a pickle."""
        Path(filename).write_bytes(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Return a processor that `save` wrote. The file is a pickle, so it can execute arbitrary
        code.
        """
        loaded: VocabularyProcessor = pickle.loads(Path(filename).read_bytes())
        return loaded

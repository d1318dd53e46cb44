"""Loops around training steps, and vocabularies that change between trainings."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpugraph.base.errors import AbortedError
from gpugraph.base.value_text import shown


def basic_train_loop(
    supervisor: Any,
    train_step_fn: Callable[..., Any],
    args: Iterable[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Call `train_step_fn(session, *args, **kwargs)` until the supervisor requests a stop.

    If a step raises AbortedError, because a server has restarted, continue in a new session. Raises
    TypeError if `supervisor` lacks one of its methods.

    Args:
      supervisor: an object with the methods `managed_session(master)`, which returns a context
        manager of a session, and `should_stop()`.
    """
    if not hasattr(supervisor, "managed_session"):
        raise TypeError(f"supervisor must have a `managed_session`, but is {shown(supervisor)}")
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
        except AbortedError:
            continue
        return


_VocabInfo = namedtuple(
    "_VocabInfo",
    "new_vocab new_vocab_size num_oov_buckets old_vocab old_vocab_size backup_initializer axis",
)


class VocabInfo(_VocabInfo):
    """The mapping of a variable's rows or columns from an old vocabulary to a new vocabulary.

    Args:
      new_vocab, old_vocab: the paths of files with one word per line.
      new_vocab_size, old_vocab_size: the number of words to use. -1 means all words.
      num_oov_buckets: the number of rows for words that are not in the new vocabulary.
      backup_initializer: the initializer for words that are not in the old vocabulary.
      axis: 0 if rows belong to words, 1 if columns do. The constructor raises ValueError for any
        other axis.
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: str,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str,
        old_vocab_size: int = -1,
        backup_initializer: Any = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(
                "The only supported values for the axis argument are 0 and 1.  Provided axis: "
                f"{axis}"
            )
        return super().__new__(
            cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size,
            backup_initializer, axis,
        )  # fmt: skip

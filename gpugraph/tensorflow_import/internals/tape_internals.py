"""`tensorflow.python.eager.tape`, whose functions do nothing, because in graph mode gradients are
computed from the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stop_recording() -> Iterator[None]:
    """Do nothing within the block, because nothing is recorded."""
    yield


def could_possibly_record() -> bool:
    """Return False."""
    return False


def should_record(tensors: Any) -> bool:
    """Return False."""
    return False


def record_operation(*arguments: Any, **options: Any) -> None:
    """Do nothing, because in graph mode gradients are computed from the graph."""


def variable_accessed(variable: Any) -> None:
    """Do nothing."""


def variables_accessed(variables: Any) -> None:
    """Do nothing."""


def watch(tape: Any, tensor: Any) -> None:
    """Do nothing."""


watch_variable = watch


def delete_trace(tensor_id: int) -> None:
    """Do nothing."""

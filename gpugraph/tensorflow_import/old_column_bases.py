"""Base classes of the older generation of feature columns, for classes of programs.

Here the newer generation inherits from the older one; in TensorFlow the two are unrelated, and
programs derive classes from both, the older first. These classes allow that order: instances of the
newer generation are instances of them by `__subclasshook__`.
"""

from __future__ import annotations

from abc import ABC, ABCMeta
from typing import Any

from gpugraph.library.feature_column.column_classes import (
    OldCategoricalColumn,
    OldDenseColumn,
    OldFeatureColumn,
    OldSequenceDenseColumn,
)


def _leaf(base: type) -> Any:
    """Return a class with the methods of `base` that no other class inherits from."""

    def has_base(cls: type, other: type) -> Any:
        return issubclass(other, base) if cls is leaf else NotImplemented

    attributes: dict[str, Any] = {
        "__subclasshook__": classmethod(has_base),
        "__doc__": base.__doc__,
    }
    leaf = ABCMeta(base.__name__.replace("Old", "_"), (base, ABC), attributes)
    return leaf


CategoricalColumnBase = _leaf(OldCategoricalColumn)
DenseColumnBase = _leaf(OldDenseColumn)
FeatureColumnBase = _leaf(OldFeatureColumn)
SequenceDenseColumnBase = _leaf(OldSequenceDenseColumn)

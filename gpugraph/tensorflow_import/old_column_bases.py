"""Base classes of the older generation of feature columns, from which programs derive classes.

In this package, the newer classes inherit from the older ones. In TensorFlow the two are unrelated,
and programs derive classes from both, with the older class first. The classes in this module allow
that order. Because of `__subclasshook__`, instances of the newer classes are also instances of the
classes in this module.
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
    """Return a class that has the methods of `base`. No other class of this package inherits from
    it.
    """

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

"""The conversion of arguments of queue constructors: the components' dtypes, shapes and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape


def component_types(dtypes: Any) -> list[DType]:
    """Return the components' dtypes as a list. `dtypes` may be a single dtype."""
    if isinstance(dtypes, (list, tuple)):
        return [as_dtype(dtype) for dtype in dtypes]
    return [as_dtype(dtypes)]


def component_shapes(shapes: Any, may_be_open: bool) -> list[TensorShape] | None:
    """Return the components' shapes as a list. `shapes` may be a single shape, or None.

    Args:
      may_be_open: whether sizes may be unknown. If true, `shapes` must be a list, and the ranks
        must be known. If false, raise ValueError for unknown sizes.
    """
    is_list = isinstance(shapes, (list, tuple)) and len(shapes) > 0
    if may_be_open and (
        not is_list or any(size is None or isinstance(size, int) for size in shapes)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (list, tuple)):
        raise TypeError("Shapes must be a TensorShape or a list or tuple of TensorShapes.")
    if all(size is None or isinstance(size, int) for size in shapes):
        shapes = [shapes]  # a single shape, as a list of its sizes
    known = [as_shape(shape) for shape in shapes]
    if not may_be_open:
        if any(not shape.is_fully_defined() for shape in known):
            raise ValueError(f"All shapes must be fully defined: {known}")
    elif any(shape.rank is None for shape in known):
        raise ValueError(f"All shapes must have a defined rank: {known}")
    return known


def component_names(names: Any, dtypes: Sequence[DType]) -> list[str] | None:
    """Return the components' names as a list. `names` may be a single name, or None.

    Raises ValueError if there are not as many names as dtypes, if two names are equal, or if
    `names` has the wrong type.
    """
    if names is None:
        return None
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, (list, tuple)):
        raise ValueError("names must be a list of strings")
    if len(names) != len(dtypes):
        raise ValueError("List of names must be the same length as the list of dtypes")
    if len(set(names)) != len(names):
        raise ValueError("names must be unique")
    return list(names)

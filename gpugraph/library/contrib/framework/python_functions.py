"""`tf.contrib.framework.py_func`: Python functions with keyword arguments and nested results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base import nest
from gpugraph.base.nest_by_depth import assert_shallow_structure, map_structure_up_to
from gpugraph.base.shapes import as_shape
from gpugraph.ops.control import py_func as python_ops


def py_func(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    output_types: Any = None,
    output_shapes: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Add an op that calls `func(*args, **kwargs)` in each run. Return the results as tensors.

    Raises TypeError if `args` is not a sequence or `kwargs` is not a dict.

    Args:
      output_types: a nested structure of dtypes, or a function that returns it when called with the
        arguments. The results have the same structure.
      output_shapes: the static shapes in the same structure, or a function that returns them, or
        None for unknown shapes.
    """
    words = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(words, dict):
        raise TypeError(f"kwargs must be dict and not {type(words)}. args: {words}")
    types = output_types(*args, **words) if callable(output_types) else output_types
    shapes = output_shapes(*args, **words) if callable(output_shapes) else output_shapes
    arguments = (list(args), words)

    def call(*values: Any) -> list[Any]:
        positional, named = nest.pack_sequence_as(arguments, list(values))
        result = func(*positional, **named)
        assert_shallow_structure(types, result)
        return nest.flatten(result)

    results = python_ops.py_func(call, nest.flatten(arguments), nest.flatten(types), stateful, name)
    if shapes is not None:
        known = map_structure_up_to(types, as_shape, shapes)
        for tensor, shape in zip(results, nest.flatten(known)):
            tensor.set_shape(shape)
    return nest.pack_sequence_as(types, results)

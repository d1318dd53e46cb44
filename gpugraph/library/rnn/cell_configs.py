"""Configurations of cells that contain other cells and functions, as dicts of plain values."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

from gpugraph.library.keras.layers.function_configs import (
    bytecode_of,
    check_bytecode,
    function_of_bytecode,
)
from gpugraph.library.rnn.rnn_cell_base import RNNCell


def config_of_cell(cell: Any) -> dict[str, Any]:
    """Return a dict with the name of a cell's class and the arguments of the cell's constructor."""
    return {"class_name": type(cell).__name__, "config": cell.get_config()}


def cell_of_config(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None) -> Any:
    """Create a cell from a dict that `config_of_cell` returned.

    Raises ValueError for an unknown name.

    Args:
      custom_objects: a dict from names to classes, which take precedence over this package's
        classes.
    """
    classes = {cls.__name__: cls for cls in _cell_classes(RNNCell)} | dict(custom_objects or {})
    name = config["class_name"]
    if name not in classes:
        raise ValueError(
            f"Unknown layer: {name}. Give its class in custom_objects, as {{{name!r}: {name}}}; "
            f"known are {', '.join(sorted(classes))}"
        )
    return classes[name].from_config(dict(config["config"]))


def _cell_classes(base: type[RNNCell]) -> Iterator[type[RNNCell]]:
    """Yield the classes of this package that derive, directly or indirectly, from `base`."""
    for cls in base.__subclasses__():
        if cls.__module__.startswith(f"{__package__}."):
            yield cls
        yield from _cell_classes(cls)


def config_of_function(name: str, function: Callable[..., Any] | None) -> dict[str, Any]:
    """Return a dict that describes a function: its code, defaults and closure, and its module.

    The keys begin with `name`. A callable that is not a Python function is described by its name.
    If `function` is None, the dict is empty.
    """
    if function is None:
        return {}
    if not isinstance(function, FunctionType):
        content: Any = getattr(function, "__name__", type(function).__name__)
        kind = "function"
    else:
        content, kind = tuple(bytecode_of(function)), "lambda"
    return {name: content, f"{name}_type": kind, f"{name}_module": function.__module__}


def function_of_config(
    name: str, config: dict[str, Any], custom_objects: Mapping[str, Any] | None
) -> Callable[..., Any] | None:
    """Remove the entries of `config_of_function` from `config`. Return the function that they
    describe.

    Return None if there are no entries.

    Raises TypeError for an unknown kind of entry. Raises ValueError for a name that is not in
    `custom_objects`, and for code that comes from a file.

    Args:
      name: the prefix of the keys of the entries.
      custom_objects: a dict from names to callables.
    """
    if name not in config:
        return None
    content, kind = config.pop(name), config.pop(f"{name}_type")
    module_name = config.pop(f"{name}_module")
    module = sys.modules.get(module_name)
    if kind == "lambda":
        check_bytecode(f"{name} of a cell", content, module_name, is_refused_elsewhere=False)
        names = {"__builtins__": builtins} if module is None else vars(module)
        return function_of_bytecode(content, names)
    if kind != "function":
        raise TypeError(f"Unknown function type for {name}: {kind!r}")
    function = (custom_objects or {}).get(content, getattr(module, content, None))
    if function is None:
        raise ValueError(f"Unknown {name}: {content}. Give it in custom_objects, by its name")
    resolved: Callable[..., Any] = function
    return resolved

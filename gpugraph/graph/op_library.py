"""The contributions of the op library to graphs: signatures, Python's operators, constant values.

The graph package does not depend on any op. The packages in `ops/` register their ops here when
they are imported. A package is imported when a program first uses one of its ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeVar

from gpugraph.graph.op_def import OpDef

V = TypeVar("V")


class OpTable(dict[str, V]):
    """A table by op type. Modules that are imported on demand register its entries.

    Attributes:
      load: a function that imports the module that registers the entry of a name.
      load_all: a function that imports all these modules, so that iterations include every entry.
    """

    load: Callable[[str], None] = staticmethod(lambda name: None)
    load_all: Callable[[], None] = staticmethod(lambda: None)

    def loaded_by(self, load: Callable[[str], None], load_all: Callable[[], None]) -> None:
        """Set `load` and `load_all`, the functions that import the modules."""
        self.load, self.load_all = load, load_all

    def __missing__(self, name: str) -> V:
        self.load(name)
        if dict.__contains__(self, name):
            return self[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        if dict.__contains__(self, name):
            return True
        if isinstance(name, str):
            self.load(name)
        return dict.__contains__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entry for `name`, or `default` if there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        self.load_all()
        return dict.__iter__(self)

    def __len__(self) -> int:
        self.load_all()
        return dict.__len__(self)

    def keys(self) -> Any:
        """Return all names."""
        self.load_all()
        return dict.keys(self)

    def values(self) -> Any:
        """Return all entries."""
        self.load_all()
        return dict.values(self)

    def items(self) -> Any:
        """Return all (name, entry) pairs."""
        self.load_all()
        return dict.items(self)


OP_DEFS: OpTable[OpDef] = OpTable()
"""The signature of each declared op, by op type."""

OPERATORS: OpTable[Callable[..., Any]] = OpTable()
"""The function that builds the ops of a Python operator, by the operator's name (`"__add__"`)."""

_NODE_DEF_OPERATION = "gpugraph.building.graph_files.node_def_operation"  # imported on first use
_conversions: list[Callable[..., Any]] = []
_constant_values: list[Callable[[Any, bool], Any]] = []
_of_node_defs: list[Callable[..., None]] = []


def register_constant_value(function: Callable[[Any, bool], Any]) -> None:
    """Register the implementation of `constant_value`: `function(tensor, as_shape)`."""
    _constant_values[:] = [function]


def constant_value(tensor: Any, as_shape: bool) -> Any:
    """Return a tensor's value if it is the same in every run. If the value is not constant, return
    None.

    Args:
      as_shape: whether to return a vector of sizes as a TensorShape, in which sizes that are not
        constant are unknown.
    """
    return _constant_values[0](tensor, as_shape)


def register_conversion(function: Callable[..., Any]) -> None:
    """Register the implementation of `as_tensor`: `function(value, dtype)`."""
    _conversions[:] = [function]


def as_tensor(value: Any, dtype: Any = None) -> Any:
    """Convert `value` to a tensor of the dtype `dtype`. If `dtype` is None, the value determines
    the dtype.

    Raises TypeError or ValueError if the value can't be converted.
    """
    return _conversions[0](value, dtype)


def register_of_node_def(function: Callable[..., None]) -> None:
    """Register the implementation of `make_of_node_def`."""
    _of_node_defs[:] = [function]


def make_of_node_def(op: Any, node_def: Any, graph: Any, *args: Any) -> None:
    """Initialize the empty `op` from a NodeDef message, and add it to the graph."""
    if not _of_node_defs:
        import_module(_NODE_DEF_OPERATION)
    _of_node_defs[0](op, node_def, graph, *args)

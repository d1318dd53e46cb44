"""What the op library gives to graphs: signatures, Python's operators, values of constants.

The graph knows no op. The families of `ops/` enter what a graph needs here when they are imported,
which is when a graph first needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeVar

from gpugraph.graph.op_def import OpDef

V = TypeVar("V")


class OpTable(dict[str, V]):
    """A table by op type whose entries come with modules that are imported when they are needed.

    load(name): imports the module that enters a name. load_all(): imports all of them; what walks
    over the table sees every entry.
    """

    load: Callable[[str], None] = staticmethod(lambda name: None)
    load_all: Callable[[], None] = staticmethod(lambda: None)

    def loaded_by(self, load: Callable[[str], None], load_all: Callable[[], None]) -> None:
        """Sets what imports the modules."""
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
        """The entry, or `default`."""
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
        """All names."""
        self.load_all()
        return dict.keys(self)

    def values(self) -> Any:
        """All entries."""
        self.load_all()
        return dict.values(self)

    def items(self) -> Any:
        """All names with their entries."""
        self.load_all()
        return dict.items(self)


OP_DEFS: OpTable[OpDef] = OpTable()
"""The signature of each declared op, by op type."""

OPERATORS: OpTable[Callable[..., Any]] = OpTable()
"""The function that builds the op of a Python operator, by the operator's name (`"__add__"`)."""

_NODE_DEF_OPERATION = (
    "gpugraph.building.graph_files.node_def_operation"  # imported with its first use
)
_conversions: list[Callable[..., Any]] = []
_constant_values: list[Callable[[Any, bool], Any]] = []
_of_node_defs: list[Callable[..., None]] = []


def register_constant_value(function: Callable[[Any, bool], Any]) -> None:
    """Registers `function(tensor, as_shape)`, which finds the value that a tensor always has."""
    _constant_values[:] = [function]


def constant_value(tensor: Any, as_shape: bool) -> Any:
    """The value that a tensor has in every run, as a shape on request; None if it varies."""
    return _constant_values[0](tensor, as_shape)


def register_conversion(function: Callable[..., Any]) -> None:
    """Registers the function that makes a tensor of any value that can become one."""
    _conversions[:] = [function]


def as_tensor(value: Any, dtype: Any = None) -> Any:
    """`value` as a tensor of `dtype`, if given; TypeError or ValueError where it can be none."""
    return _conversions[0](value, dtype)


def register_of_node_def(function: Callable[..., None]) -> None:
    """Registers what makes a new Operation that of a NodeDef message."""
    _of_node_defs[:] = [function]


def make_of_node_def(op: Any, node_def: Any, graph: Any, *args: Any) -> None:
    """Makes `op`, which has nothing yet, that of a NodeDef message, and enters it in the graph."""
    if not _of_node_defs:
        import_module(_NODE_DEF_OPERATION)
    _of_node_defs[0](op, node_def, graph, *args)

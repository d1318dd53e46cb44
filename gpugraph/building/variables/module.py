"""Modules: objects that hold variables and other modules in their attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from gpugraph.building.trackable.auto_trackable import AutoTrackable
from gpugraph.building.variables import PartitionedVariable, Variable
from gpugraph.graph.client.default_graph_functions import get_default_graph


class Module(AutoTrackable):
    """An object with a name whose attributes hold variables and other modules.

    `variables` and `submodules` include the variables and modules in the attributes of submodules.

    The constructor raises ValueError if the name is not an identifier.

    Args:
      name: a Python identifier, by default the class's name in snake case. The name is also the
        name scope of the operations that methods decorated with `with_name_scope` add.
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset({"_tracked"})
    """Attributes whose values are not searched for variables and modules."""

    def __init__(self, name: str | None = None) -> None:
        chosen = snake_case(type(self).__name__) if name is None else name
        if not re.fullmatch(r"[A-Za-z_]\w*", chosen):
            raise ValueError(
                f"{chosen!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = chosen
        graph = get_default_graph()
        with graph.name_scope(chosen) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The name that was passed to the constructor. By default the name is derived from the
        class's name.
        """
        return self._name

    @property
    def name_scope(self) -> AbstractContextManager[str]:
        """A context manager that enters the module's name scope."""
        graph = get_default_graph()
        return graph.name_scope(self._scope_name)

    @property
    def variables(self) -> Any:
        """The variables in attributes, ordered by the attributes' names, followed by the variables
        of submodules.
        """
        return tuple(value for value in self._leaves() if _is_variable(value))

    @property
    def trainable_variables(self) -> Any:
        """The elements of `variables` that are trainable."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in the attributes of this module, and in the attributes of those modules."""
        return tuple(value for value in self._leaves() if isinstance(value, Module))

    def _leaves(self) -> Iterator[Any]:
        """Yield all values in attributes once, including the values in nested lists and dicts.

        The values in the module's attributes precede the values in its submodules.
        """
        seen = {id(self)}
        waiting: list[Module] = [self]
        while waiting:
            module = waiting.pop(0)
            for name in sorted(vars(module)):
                if name in module._TF_MODULE_IGNORED_PROPERTIES:
                    continue
                for value in leaves(vars(module)[name]):
                    if id(value) not in seen:
                        seen.add(id(value))
                        yield value
                        if isinstance(value, Module):
                            waiting.append(value)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a method so that its operations are in the module's name scope."""

        @wraps(method)
        def call_in_scope(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return call_in_scope


def _is_variable(value: Any) -> bool:
    return isinstance(value, (Variable, PartitionedVariable))


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values in nested lists, tuples and dicts.

    The values of a dict are in the order of its sorted keys. Raises ValueError if the structure
    contains itself.
    """
    try:
        yield from _leaves(value)
    except RecursionError:
        raise ValueError("A structure is nested too deeply, or contains itself") from None


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    else:
        yield value


def snake_case(name: str) -> str:
    """Convert a name such as `BasicLSTMCell` to `basic_lstm_cell`. A name that begins with `_` gets
    the prefix `private`, because it is used for a scope.
    """
    split = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    lowered = re.sub("([a-z])([A-Z])", r"\1_\2", split).lower()
    return f"private{lowered}" if lowered.startswith("_") else lowered

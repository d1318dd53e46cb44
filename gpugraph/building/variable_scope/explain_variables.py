"""`tf.explain_variables`: the variables of a graph, by scope, and the lines that share them.

    tower/  2 variables, 1.1KiB
      w  (16, 16) float32  1.0KiB  trainable
          made    net.py:12 (in tower) < net.py:20 (in main)
          reused  net.py:12 (in tower) < net.py:21 (in main)

A site is a line of the program that requested the variable through `tf.get_variable`, together with
the lines of its callers. A variable created by `tf.Variable` has one site, the line that created
it. If the name of a variable directly extends the name of another variable, as for an optimizer's
slots, the variable with the longer name is listed under the other variable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.variable_scope.variable_store import variable_store
from gpugraph.building.variables import variable_parts
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import Origin
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.memory import human_readable_bytes


@dataclass(frozen=True)
class Site:
    """A line of the program that created a variable or requested an existing variable. `times` is
    the number of these requests.
    """

    origin: Origin
    created: bool
    times: int = 1

    @property
    def lines(self) -> list[tuple[str, int, str]]:
        """Triples (file, line, function): the line itself, and up to two of its callers. Callers of
        the program's module-level code are omitted.
        """
        site_lines = []
        for file, line, function, _ in self.origin.frames:
            site_lines.append((file, line, function))
            if function == "<module>":
                break  # callers beyond it run or import the program
        return site_lines

    def __str__(self) -> str:
        places = [f"{os.path.basename(file)}:{line} (in {name})" for file, line, name in self.lines]
        way = " < ".join(places)
        often = f", {self.times} times" if self.times > 1 else ""
        return f"{'made' if self.created else 'reused':<7} {way or 'an unknown line'}{often}"


@dataclass(frozen=True)
class ExplainedVariable:
    """The description of the variable with the full name `name`.

    Args:
      device: the requested device, or "" if there is none.
      num_bytes: the size of its value. None if its shape is not fully defined or its elements are
        strings.
      parts: the number of its parts if it is partitioned, otherwise 1.
      shared: whether `tf.get_variable` can return the variable again.
      collections: the names of the collections that contain the variable or, if the variable is
        partitioned, its first part.
    """

    name: str
    shape: TensorShape
    dtype: str
    device: str
    num_bytes: int | None
    parts: int
    shared: bool
    trainable: bool
    collections: tuple[str, ...]
    sites: tuple[Site, ...]

    @property
    def short_name(self) -> str:
        """The name without the name of its scope."""
        return self.name.rpartition("/")[2]

    def facts(self) -> str:
        """Return the shape, dtype, size and other properties as one line."""
        size = "size unknown" if self.num_bytes is None else human_readable_bytes(self.num_bytes)
        parts = [
            f"{self.shape} {self.dtype}", size, f"in {self.parts} parts" if self.parts > 1 else "",
            "trainable" if self.trainable else "not trainable", self.device,
            "" if self.shared else "a tf.Variable, not shared by name",
        ]  # fmt: skip
        return "  ".join(filter(None, parts))


@dataclass
class ExplainedScope:
    """The variables directly in a scope, and its inner scopes. `name` is its full name.

    Args:
      slots: maps the name of a variable to the variables directly under this name, such as an
        optimizer's momentum.
    """

    name: str
    variables: list[ExplainedVariable] = field(default_factory=list)
    scopes: dict[str, ExplainedScope] = field(default_factory=dict)
    slots: dict[str, list[ExplainedVariable]] = field(default_factory=dict)

    def all_variables(self) -> Iterator[ExplainedVariable]:
        """Yield the variables of this scope and of its inner scopes, each followed by its slots."""
        for variable in self.variables:
            yield variable
            yield from self.slots.get(variable.name, ())
        for scope in self.scopes.values():
            yield from scope.all_variables()

    @property
    def num_bytes(self) -> int:
        """The total size of all variables whose size is known."""
        return sum(variable.num_bytes or 0 for variable in self.all_variables())

    def summary(self) -> str:
        """Return the number of variables and their total size."""
        count = sum(1 for _ in self.all_variables())
        size = human_readable_bytes(self.num_bytes)
        return f"{count} variable{'' if count == 1 else 's'}, {size}"

    def text(self, depth: int = 0) -> Iterator[str]:
        """Yield a line for each variable, site and scope, indented by nesting."""
        indent = "  " * depth
        width = max([len(variable.short_name) for variable in self.variables], default=0)
        for variable in self.variables:
            facts = f"{variable.facts()}{self._slots_of(variable)}"
            yield f"{indent}{variable.short_name:<{width}}  {facts}"
            for site in variable.sites:
                yield f"{indent}    {site}"
        for name, scope in self.scopes.items():
            yield f"{indent}{name}/  {scope.summary()}"
            yield from scope.text(depth + 1)

    def _slots_of(self, variable: ExplainedVariable) -> str:
        slots = self.slots.get(variable.name)
        if not slots:
            return ""
        size = human_readable_bytes(sum(slot.num_bytes or 0 for slot in slots))
        return f"  + {', '.join(slot.short_name for slot in slots)} ({size})"


class VariablesExplanation:
    """All variables of a graph, as a list and as a tree of scopes from `root`.

    `str()` shows the tree.
    """

    def __init__(self, variables: list[ExplainedVariable]) -> None:
        self.variables = variables
        self.root = ExplainedScope("")
        names = {variable.name for variable in variables}
        for variable in variables:
            owner = variable.name.rpartition("/")[0]
            if owner in names and not variable.shared:
                self._make_scope(owner).slots.setdefault(owner, []).append(variable)
            else:
                self._make_scope(variable.name).variables.append(variable)

    def _make_scope(self, variable_name: str) -> ExplainedScope:
        """Return the scope that directly contains a variable of this name. Create the scope if it
        does not exist.
        """
        scope = self.root
        path = variable_name.split("/")[:-1]
        for depth, name in enumerate(path, 1):
            scope = scope.scopes.setdefault(name, ExplainedScope("/".join(path[:depth])))
        return scope

    def variable(self, name: str) -> ExplainedVariable:
        """Return the variable of this full name. Raises KeyError if there is no such variable."""
        for candidate in self.variables:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    def scope(self, name: str) -> ExplainedScope:
        """Return the scope of this full name. The name of the root is `""`.

        Raises KeyError if the scope does not exist.
        """
        explained = self.root
        for part in filter(None, name.split("/")):
            explained = explained.scopes[part]
        return explained

    def __str__(self) -> str:
        return "\n".join([self.root.summary(), *self.root.text()])


def explain_variables(graph: Graph | None = None) -> VariablesExplanation:
    """Describe all variables of `graph`, or of the default graph, and the lines that share them."""
    graph = get_default_graph() if graph is None else graph
    store = variable_store(graph)
    shared = {**store.variables, **store.partitioned}
    parts = {id(part) for partitioned in store.partitioned.values() for part in partitioned}
    unpartitioned = {
        name: variable for name, variable in shared.items() if id(variable) not in parts
    }
    known = {id(variable) for variable in shared.values()}
    for key in graph.collections:
        for variable in graph.get_collection(key):
            if _is_variable(variable) and id(variable) not in known | parts:
                known.add(id(variable))
                unpartitioned[variable.op.name] = variable
    return VariablesExplanation(
        [
            _explained(graph, name, variable, name in shared, store.sites.get(name, {}))
            for name, variable in unpartitioned.items()
        ]
    )


def _is_variable(item: Any) -> bool:
    return hasattr(item, "initializer") and hasattr(item, "op") and hasattr(item, "dtype")


def _explained(
    graph: Graph, name: str, variable: Any, shared: bool, sites: dict[tuple[Origin, bool], int]
) -> ExplainedVariable:
    pieces = variable_parts(variable)
    collections = _collections_of(graph, pieces[0])
    shape, dtype = as_shape(variable.shape), variable.dtype.base_dtype
    count = None if dtype is dtypes.string else shape.num_elements()
    found_sites = tuple(Site(origin, created, times) for (origin, created), times in sites.items())
    return ExplainedVariable(
        name=name,
        shape=shape,
        dtype=dtype.name,
        device=", ".join(dict.fromkeys(getattr(piece, "device", "") for piece in pieces)),
        num_bytes=None if count is None else count * dtype.size,
        parts=len(pieces),
        shared=shared,
        trainable=GraphKeys.TRAINABLE_VARIABLES in collections,
        collections=collections,
        sites=found_sites or (Site(pieces[0].op.origin, created=True),),
    )


def _collections_of(graph: Graph, variable: Any) -> tuple[str, ...]:
    return tuple(
        key
        for key in graph.get_all_collection_keys()
        if any(member is variable for member in graph.get_collection(key))
    )

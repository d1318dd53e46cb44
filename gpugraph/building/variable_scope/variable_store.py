"""The variable store: a graph's shared variables by their full names.

`get` returns or creates the variable of a `VariableSpec`, through the custom getter if one is set.
Only one thread at a time creates a variable, so two requests for the same name get the same
variable. The store records the line of each request, and `explain_variables` lists these lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.fork_safe_locks import new_lock, new_rlock
from gpugraph.building.variable_scope.custom_getters import passes
from gpugraph.building.variable_scope.partition_slices import (
    check_count,
    cut,
    full_shape,
    partitions_of,
    share,
)
from gpugraph.building.variable_scope.sharing_errors import already_there, made_at, not_there
from gpugraph.building.variable_scope.single_variable import check_same, make_single
from gpugraph.building.variable_scope.variable_request import PartitionInfo, VariableSpec
from gpugraph.building.variables import PartitionedVariable, SaveSliceInfo
from gpugraph.building.variables.replication_modes import checked_modes, trains
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import Origin, here
from gpugraph.graph.client.default_graph_functions import get_default_graph, graph_or_default

_KEY = ("__variable_store",)  # the collection that holds the store, as in TensorFlow
_LOCK = new_lock()


def one_of_graph(graph: Graph | None, key: Any, make: Callable[[], Any]) -> Any:
    """Return the only item of a collection of `graph`, or of the default graph.

    The item is created by `make` when it is first needed.
    """
    items = graph_or_default(graph).get_collection_ref(key)
    with _LOCK:
        if not items:
            items.append(make())
    return items[0]


def variable_store(graph: Graph | None = None) -> VariableStore:
    """Return the variable store of `graph`, or of the default graph."""
    store: VariableStore = one_of_graph(graph, _KEY, VariableStore)
    return store


class VariableStore:
    """The shared variables of a graph.

    Attributes:
      variables: the variables by full name, including the parts of partitioned variables.
      partitioned: the PartitionedVariables by full name.
      sites: for each variable name, a dict that counts the requests. A key is the requesting line
        of the program, and whether the request created the variable.
      default_scopes: the full names of scopes that were opened by default names.
    """

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        self.sites: dict[str, dict[tuple[Origin, bool], int]] = {}
        self.default_scopes: set[str] = set()
        self._lock = new_rlock()

    def get(self, spec: VariableSpec, custom_getter: Callable[..., Any] | None = None) -> Any:
        """Return the variable for `spec`. With a custom getter, return the getter's result
        instead.
        """
        synchronization, aggregation = checked_modes(
            spec.synchronization, spec.aggregation, spec.name
        )
        spec = replace(
            spec,
            dtype=getattr(spec.dtype, "base_dtype", spec.dtype),
            trainable=trains(spec.trainable, synchronization),
            synchronization=synchronization,
            aggregation=aggregation,
        )
        if custom_getter is None:
            return self._find_or_make(spec)
        if not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter!r}")
        arguments = dict(vars(spec))
        if not passes(custom_getter, "constraint"):
            del arguments["constraint"]
        return custom_getter(getter=self._getter, **arguments)

    def _getter(self, *args: Any, **kwargs: Any) -> Any:
        """Return the variable for the fields of a VariableSpec. Custom getters receive this method
        as `getter`.
        """
        return self._find_or_make(VariableSpec(*args, **kwargs))

    def _find_or_make(self, spec: VariableSpec) -> Any:
        is_scalar = isinstance(spec.shape, Sequence) and not spec.shape
        with self._lock:
            if spec.partitioner is not None and not is_scalar:
                if not callable(spec.partitioner):
                    raise ValueError(
                        f"Partitioner must be callable, but received: {spec.partitioner!r}"
                    )
                with get_default_graph().name_scope(None):
                    return self._partitioned(spec)
            if spec.reuse is True and spec.name in self.partitioned:
                return self._partitioned(spec)
            first = f"{spec.name}/part_0"
            if first in self.variables:
                raise ValueError(
                    "No partitioner was provided, but a partitioned version of the variable was "
                    f"found: {first}.{made_at(self.variables[first])} Give the partitioner again, "
                    "or reuse=True, or another name."
                )
            return self._single(spec)

    def _single(self, spec: VariableSpec, part: PartitionInfo | None = None) -> Any:
        if spec.gives_value and spec.shape is not None:
            raise ValueError(
                f"If initializer is a constant, do not specify shape (variable {spec.name}: shape "
                f"{spec.shape}, initializer {spec.initializer!r})."
            )
        existing = self.variables.get(spec.name)
        if existing is not None:
            if spec.reuse is False:
                raise already_there(spec.name, existing, self.default_scopes)
            check_same(spec, existing)
            self._note(spec.name, created=False)
            return existing
        if spec.reuse is True:
            raise not_there(spec.name, [*self.variables, *self.partitioned])
        variable = make_single(spec, part)
        self.variables[spec.name] = variable
        self._note(spec.name, created=True)
        return variable

    def _note(self, name: str, created: bool) -> None:
        """Record that the program's current line created the variable or, if not `created`,
        requested an existing variable.
        """
        graph = get_default_graph()
        sites = self.sites.setdefault(name, {})
        site = here(graph._origins), created
        sites[site] = sites.get(site, 0) + 1

    # -- in parts

    def _partitioned(self, spec: VariableSpec) -> PartitionedVariable:
        name, dtype = spec.name, as_dtype(spec.dtype)
        if name in self.variables:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}.{made_at(self.variables[name])} Leave out the partitioner, or give "
                "another name."
            )
        shape = full_shape(spec)
        partitions = None
        if spec.partitioner is not None:
            partitions = partitions_of(spec, shape, dtype)
        existing = self.partitioned.get(name)
        if existing is not None:
            _check_found(replace(spec, shape=shape), existing, partitions)
            self._note(name, created=False)
            return existing
        if spec.reuse is True or partitions is None:
            raise not_there(name, self.partitioned, "PartitionedVariable")
        count = max(partitions)
        check_count(name, count, self.variables)
        sizes = [int(size) for size in shape.as_list() if size is not None]
        parts = [
            self._part(spec, index, sizes, offset, size)
            for index, (offset, size) in enumerate(cut(sizes, partitions))
        ]
        variable = PartitionedVariable(name, shape, parts[0].dtype.base_dtype, parts, partitions)
        self.partitioned[name] = variable
        self._note(name, created=True)
        return variable

    def _part(
        self, spec: VariableSpec, index: int, sizes: list[int], offset: list[int], size: list[int]
    ) -> Any:
        """Return part `index` of the variable, and create it if it does not exist.

        Args:
          sizes: the shape of the whole variable.
          offset, size: the offset and the shape of the part.
        """
        name = f"{spec.name}/part_{index}"
        initializer = share(spec, name, offset, size)
        shape = None if spec.gives_value else size
        with get_default_graph().name_scope(None):
            part = self._single(
                replace(spec, name=name, shape=shape, initializer=initializer),
                PartitionInfo(full_shape=sizes, var_offset=offset),
            )
        part._set_save_slice_info(SaveSliceInfo(spec.name, sizes, offset, size))
        return part


def _check_found(
    spec: VariableSpec, existing: PartitionedVariable, partitions: list[int] | None
) -> None:
    """Raise ValueError if the existing partitioned variable does not match the request."""
    first = next(iter(existing))
    if spec.reuse is False:
        raise ValueError(
            f"Partitioned variable with name {spec.name} already exists.{made_at(first)} To get "
            "it, set reuse=True or reuse=tf.AUTO_REUSE in the variable_scope."
        )
    check_same(spec, existing, "partitioned variable")
    there = list(existing._get_partitions())
    if partitions is not None and partitions != there:
        raise ValueError(
            f"Trying to reuse partitioned variable {spec.name}, but specified partitions "
            f"{partitions} and found partitions {there}.{made_at(first)}"
        )

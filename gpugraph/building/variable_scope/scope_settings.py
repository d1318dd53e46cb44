"""Variable scopes: a prefix for names, and settings for the variables under it.

`variable_scope` enters a scope. For each graph, each thread has a stack of scopes. The bottom of
the stack is the root scope, which has no name. The stack also counts how often a scope of each name
was opened, so that default names can be made unique.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.building.variable_scope.variable_request import VariableSpec
from gpugraph.building.variable_scope.variable_store import (
    VariableStore,
    one_of_graph,
    variable_store,
)
from gpugraph.building.variables import PartitionedVariable
from gpugraph.building.variables.reference_or_resource import SCOPE_CHOICE
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.graph_scopes import as_name
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_KEY = ("__varscope",)  # the collection that holds the stack, as in TensorFlow
_ASKED = (
    "initializer", "regularizer", "reuse", "caching_device", "partitioner", "dtype",
    "use_resource", "constraint",
)  # fmt: skip
"""The settings that a scope passes to `get_variable`; the custom getter is passed separately."""


def _setting(name: str, doc: str) -> Any:
    """Return a property that reads one of a scope's settings."""
    return property(attrgetter(f"_{name}"), doc=doc)


class VariableScope:
    """The settings of the variables under `name`. A setting that is None has no effect.

    Args:
      reuse: with True, variables must exist. With False, variables must not exist. With AUTO_REUSE,
        missing variables are created.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
    ) -> None:
        self._name = name
        self._name_scope = name_scope
        self._reuse = reuse
        self._initializer = initializer
        self._regularizer = regularizer
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    def __repr__(self) -> str:
        return f"<tf.VariableScope '{self._name}' reuse={self._reuse}>"

    name = _setting("name", "The scope's name, without a slash at its end.")
    original_name_scope = _setting("name_scope", "The name scope that it opened, with its slash.")
    reuse = _setting("reuse", "Whether variables must be new (False), exist (True), or either.")
    initializer = _setting("initializer", "The default initializer of variables, or None.")
    regularizer = _setting("regularizer", "The default regularizer of variables, or None.")
    caching_device = _setting("caching_device", "The device on which reads are cached, or None.")
    partitioner = _setting("partitioner", "The default partitioner of variables, or None.")
    custom_getter = _setting("custom_getter", "The function in place of the true getter, or None.")
    dtype = _setting("dtype", "The default dtype of variables.")
    use_resource = _setting("use_resource", "Whether variables are resource variables, or None.")
    constraint = _setting("constraint", "The function that projects an updated variable, or None.")

    def reuse_variables(self) -> None:
        """From now on, require variables to exist in this scope and in scopes that are opened
        inside it.
        """
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer of this scope."""
        self._initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer of this scope."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Set the default caching device of this scope."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Set the default partitioner of this scope."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        """Set the custom getter of this scope."""
        self._custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        """Set the default dtype of this scope."""
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Set whether this scope creates resource variables."""
        self._use_resource = use_resource

    # -- the variables under it

    def get_collection(self, name: Any) -> list[Any]:
        """Return the items of a collection whose names are under this scope's name."""
        return get_default_graph().get_collection(name, self._prefix())

    def global_variables(self) -> list[Any]:
        """Return the global variables under this scope's name."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Return the local variables under this scope's name."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """Return the trainable variables under this scope's name."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def _prefix(self) -> str:
        return f"{self._name}/" if self._name else ""

    # -- requests

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Callable[..., Any] | None = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Return the variable `name` in this scope, from `var_store`. See `tf.get_variable`."""
        name = as_name(name)
        with get_default_graph().name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                _check_dtype(initializer, dtype)
            spec = self._spec(
                self._prefix() + name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                regularizer=regularizer,
                reuse=reuse,
                trainable=trainable,
                collections=collections,
                caching_device=caching_device,
                partitioner=partitioner,
                validate_shape=validate_shape,
                use_resource=use_resource,
                constraint=constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )
            return var_store.get(spec, custom_getter or self._custom_getter)

    def _spec(self, full_name: str, **requested: Any) -> VariableSpec:
        """Return the request for a variable. If an argument is None, the request has this scope's
        setting.
        """
        for key in _ASKED:
            if requested.get(key) is None:
                requested[key] = getattr(self, key)
        return VariableSpec(full_name, **requested)

    def _get_partitioned_variable(
        self, name: str | None, shape: Any, partitioner: Any, **arguments: Any
    ) -> PartitionedVariable:
        """Return a partitioned variable. Without a name, the variable has the name of the scope.

        Raises ValueError if a custom getter is set, since the getter would be bypassed.
        """
        if self._custom_getter is not None:
            raise ValueError(
                "Private access to _get_partitioned_variable is not allowed when a custom getter "
                f"is set ({self._custom_getter!r}). Use tf.get_variable with a partitioner."
            )
        full_name = "/".join(filter(None, [self._name, name]))
        spec = self._spec(full_name, shape=shape, partitioner=partitioner, **arguments)
        return variable_store().get(spec)


def _check_dtype(initializer: Any, dtype: Any) -> None:
    """Raise ValueError if the dtype of an initial value is not the requested one."""
    wanted, actual = as_dtype(dtype).base_dtype, convert_to_tensor(initializer).dtype.base_dtype
    if actual is not wanted:
        raise ValueError(f"Initializer type '{actual}' and explicit dtype '{wanted}' don't match.")


class ScopeStack(threading.local):
    """The scopes of a thread, outermost first, and the number of times that each name was
    opened.
    """

    def __init__(self) -> None:
        self.scopes: list[VariableScope] = [VariableScope(False)]
        self.counts: dict[str, int] = {}

    @property
    def current(self) -> VariableScope:
        """The innermost scope of this thread."""
        return self.scopes[-1]

    def open(self, name: str) -> None:
        """Increment the number of times that the scope `name` was opened."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_inside(self, name: str) -> None:
        """Reset the counts of all scopes under `name`, so that default names start again without a
        number.
        """
        for scope_name in self.counts:
            if not name or scope_name.startswith(f"{name}/"):
                self.counts[scope_name] = 0

    def unique(self, prefix: str) -> str:
        """Return the first of `prefix`, `prefix_1` and so on that is not used in the current
        scope.
        """
        full = self.current._prefix() + prefix
        index, name = 0, full
        while self.counts.get(name, 0):
            index += 1
            name = f"{full}_{index}"
        return f"{prefix}_{index}" if index else prefix

    def leave(self, scope: VariableScope) -> None:
        """Remove the innermost scope. If `scope` is not the innermost scope, change nothing and
        raise RuntimeError.
        """
        self.check_innermost(scope)
        self.scopes.pop()

    def check_innermost(self, scope: VariableScope) -> None:
        """Raise RuntimeError unless `scope` is the innermost scope of this thread."""
        depth = next((index for index, inner in enumerate(self.scopes) if inner is scope), None)
        inside = [inner.name for inner in self.scopes[depth + 1 :]] if depth is not None else []
        if depth is None or inside:
            raise RuntimeError(
                f"Improper nesting of variable_scope. '{scope.name}' is left "
                + (f"before '{inside[-1]}', entered inside it." if inside else "a second time.")
            )


def scope_stack(graph: Graph | None = None) -> ScopeStack:
    """Return the scopes of this thread on `graph`, or on the default graph."""
    stack: ScopeStack = one_of_graph(graph, _KEY, ScopeStack)
    return stack


def get_variable_scope() -> VariableScope:
    """Return the variable scope of this thread in the default graph.

    >>> with tf.variable_scope("layer"):
    ...     print(tf.get_variable_scope().name)
    layer
    """
    return scope_stack().current


SCOPE_CHOICE.append(lambda: get_variable_scope().use_resource)

"""`with tf.variable_scope(...)`: enters a variable scope, and a name scope of the same name.

A string extends the current scope's name, and the new scope inherits the current settings. A
VariableScope object is entered with its own name and settings, independent of the current variable
scope. Only its name scope is opened inside the current name scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from gpugraph.building.variable_scope.custom_getters import nested
from gpugraph.building.variable_scope.scope_settings import VariableScope, scope_stack
from gpugraph.building.variable_scope.variable_request import AUTO_REUSE
from gpugraph.building.variable_scope.variable_store import variable_store
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import graph_of

_SETTINGS = (
    "initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype",
    "use_resource",
)  # fmt: skip
"""Settings that a scope inherits or overrides. As in TensorFlow, `constraint` isn't inherited."""


class pure_variable_scope:
    """A context manager that enters a variable scope but no name scope.

    Raises RuntimeError if scopes are not left in the reverse order of entering.

    Args:
      name_scope: the variable scope's `original_name_scope`.
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope,
        reuse: Any = None,
        name_scope: str | None = None,
        constraint: Any = None,
        **settings: Any,
    ) -> None:
        self._jumps = isinstance(name_or_scope, VariableScope)
        self._stack = stack = scope_stack()
        self._scope = _scope(name_or_scope, stack.current, reuse, name_scope, constraint)
        _apply_settings(self._scope, settings)
        self._counts: dict[str, int] = {}

    def __enter__(self) -> VariableScope:
        self._stack.open(self._scope.name)
        self._counts = dict(self._stack.counts)
        self._stack.scopes.append(self._scope)
        return self._scope

    def __exit__(self, *_: Any) -> None:
        self._stack.leave(self._scope)
        if self._jumps:
            self._stack.counts = self._counts  # forget the scopes opened inside
        else:
            self._stack.close_inside(self._scope.name)


def _scope(
    name_or_scope: str | VariableScope,
    current: VariableScope,
    reuse: Any,
    name_scope: str | None,
    constraint: Any,
) -> VariableScope:
    """Return a new scope. Its settings come from `name_or_scope` if `name_or_scope` is a scope, or
    from `current` if `name_or_scope` is a string.
    """
    if isinstance(name_or_scope, VariableScope):
        source, name, op_scope = name_or_scope, name_or_scope.name, name_or_scope._name_scope
    else:
        source, name = current, current._prefix() + name_or_scope
        op_scope = name_or_scope if name_scope is None else name_scope
    inherited = {key: getattr(source, key) for key in _SETTINGS}
    return VariableScope(
        reuse or source.reuse, name=name, name_scope=op_scope, constraint=constraint, **inherited
    )


def _apply_settings(scope: VariableScope, settings: dict[str, Any]) -> None:
    """Apply those settings that are not None. A custom getter is nested inside the scope's existing
    getter.
    """
    for key, value in settings.items():
        if value is not None:
            if key == "custom_getter":
                value = nested(value, scope.custom_getter)
            getattr(scope, f"set_{key}")(value)


class variable_scope:
    """A context manager that enters a scope for variables, and a name scope.

    Raises TypeError if there is no name, or if the name is neither a string nor a scope. Raises
    ValueError if `reuse` is invalid, or if `reuse` is set with a default name.

    Args:
      name_or_scope: a name, which is relative to the current scope; or a scope, whose name is
        absolute.
      default_name: the name if `name_or_scope` is None, made unique in the current scope.
      values: input tensors of the ops in the scope. Their graph becomes the default graph inside
        the scope.
      reuse: with True, variables must exist. With tf.AUTO_REUSE, missing variables are created.
        With None or False, the setting of the outer scope applies, and in the root scope
        variables must not exist.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource: the
        defaults of `get_variable`, which inner scopes inherit.
      constraint: a default of `get_variable` that inner scopes do not inherit.
      auxiliary_name_scope: whether to open a new name scope.

    >>> with tf.variable_scope("layer"):
    ...     w = tf.get_variable("w", [2])
    >>> w.name
    'layer/w:0'
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Iterable[Any] | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, AUTO_REUSE) and not isinstance(reuse, bool):
            raise ValueError(
                f"The reuse parameter must be True or False or None, or AUTO_REUSE: {reuse!r}"
            )
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                "The auxiliary_name_scope must be `True` or `False`, while get "
                f"{auxiliary_name_scope!r}"
            )
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._graph: Graph = graph_of(list(values) if values is not None else ())
        self._reuse = reuse
        self._opens_name_scope = auxiliary_name_scope
        self._settings = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._unique_name: str | None = None
        self._entered: list[tuple[ExitStack, VariableScope]] = []

    def __enter__(self) -> VariableScope:
        with ExitStack() as entered:
            entered.enter_context(self._graph.as_default())
            scope = self._enter(entered)
            self._entered.append((entered.pop_all(), scope))
        return scope

    def _enter(self, entered: ExitStack) -> VariableScope:
        target = self._name_or_scope
        if target is None:
            if self._reuse:
                raise ValueError(
                    "reuse=True cannot be used without a name_or_scope: the default name "
                    f"'{self._default_name}' is made unique, so that nothing is there to reuse"
                )
            within = entered.enter_context(self._name_scope(str(self._default_name)))
            if self._unique_name is None:  # a second entry keeps the name
                stack = scope_stack()
                self._unique_name = stack.unique(str(self._default_name))
                full_name = stack.current._prefix() + self._unique_name
                variable_store().default_scopes.add(full_name)
            target = self._unique_name
        elif isinstance(target, VariableScope):
            within = entered.enter_context(self._name_scope(target.name.split("/")[-1]))
        elif isinstance(target, str):
            within = entered.enter_context(self._name_scope(target))
        else:
            raise TypeError(
                f"VariableScope: name_or_scope must be a string or VariableScope: {target!r}"
            )
        return entered.enter_context(
            pure_variable_scope(target, self._reuse, within, **self._settings)
        )

    def _name_scope(self, name: str) -> AbstractContextManager[str]:
        """Return the name scope to enter: a new name scope `name` if one was requested, otherwise
        the current name scope.
        """
        if name and self._opens_name_scope:
            return self._graph.name_scope(name)
        current = self._graph.get_name_scope()
        return self._graph.name_scope(f"{current}/" if current else None)

    def __exit__(self, *error: Any) -> None:
        entered, scope = self._entered[-1]
        scope_stack(self._graph).check_innermost(scope)
        self._entered.pop()
        entered.__exit__(*error)


@contextmanager
def variable_op_scope(
    values: Iterable[Any],
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Callable[..., Any] | None = None,
) -> Iterator[VariableScope]:
    """Open a `variable_scope`. In this older function, `values` is the first argument."""
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    ) as scope:
        yield scope

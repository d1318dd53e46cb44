"""`make_template`: a function that creates its variables in its first call and then shares them.

    def network(x):
        w = tf.get_variable("w", [3, 3])
        return tf.matmul(x, w)

    shared = tf.make_template("network", network)
    first, second = shared(a), shared(b)                # one network/w, two network*/MatMul

The first call opens a variable scope. With `create_scope_now_`, `make_template` itself opens this
scope instead. Every call enters this scope, and every call after the first reuses the variables.
Each call has a separate name scope, inside the name scope of its caller. If the first call fails,
the next call is treated as the first.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from copy import copy
from typing import Any

from gpugraph.base.errors import OpError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.building.trackable.trackable import Trackable, TrackableReference
from gpugraph.building.variable_scope import AUTO_REUSE, VariableScope, variable_scope
from gpugraph.building.variable_scope.scope_entry_and_reuse import pure_variable_scope
from gpugraph.building.variable_scope.scope_settings import scope_stack
from gpugraph.building.variable_scope.variable_store import variable_store
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import Origin, here
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys

_LOG = logging.getLogger("gpugraph")


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """Return a `Template` of `func_`. All its calls share the variables that they get from
    `tf.get_variable`.

    Raises ValueError if `name_` is None.

    Args:
      name_: the name of the template's variable scope, which is made unique in the enclosing scope.
      create_scope_now_: whether the scope is opened now instead of in the first call.
      unique_name_: the exact name of the scope. If `unique_name_` is passed, `name_` is ignored.
      custom_getter_: the custom getter of the scope, see `tf.get_variable`.
      kwargs: arguments of `func_` in each call, unless the call passes other values.

    >>> scale = tf.make_template("scale", lambda x: x * tf.get_variable("w", initializer=2.0))
    >>> a, b = scale(1.0), scale(3.0)
    >>> [variable.name for variable in tf.global_variables()]
    ['scale/w:0']
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class _FirstCall:
    """A template's first call, while it is in progress in a thread.

    Args:
      scopes: the thread's stack of variable scopes.
      place: the index of the template's scope in this stack.
    """

    def __init__(self, scopes: list[VariableScope], place: int) -> None:
        self.scopes = scopes
        self.place = place

    def share(self) -> None:
        """Allow this call to reuse variables from now on. Other threads, in which the first call of
        the template is also in progress, create these variables.
        """
        for scope in self.scopes[self.place :]:
            if not scope.reuse:
                scope._reuse = AUTO_REUSE


class _Calls(threading.local):
    """The templates whose calls are in progress in a thread, innermost last."""

    def __init__(self) -> None:
        self.templates: list[Template] = []


_CALLS = _Calls()


class Template(Trackable):
    """A function whose calls share variables. `make_template` creates a Template.

    Calling the Template returns the result of the function. If a call after the first creates a
    trainable variable, the call raises ValueError. If the function raises an error, the line that
    created the template is added to the error's message.
    """

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._origin = here({})
        self._func = func
        self._name = name
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._scope: VariableScope | None = None
        self._going_on: list[_FirstCall] = []  # first calls in progress, at most one per thread
        self._inner: list[Template] = []  # templates called in the first call
        self._lock = new_lock()
        self._variables_created = False
        if create_scope_now:
            chosen = unique_name or scope_stack().unique(name)
            with pure_variable_scope(chosen, custom_getter=custom_getter) as scope:
                self._scope = scope

    def __repr__(self) -> str:
        where = "not called yet" if self._scope is None else f"scope '{self._scope.name}'"
        return f"<Template '{self._name}' {where}>"

    # -- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with ExitStack() as entered:
            with self._lock:
                scope = entered.enter_context(self._enter())
                if self._scope is None:
                    self._scope = copy(scope)
            try:
                return self._call(args, kwargs)
            except Exception as error:
                _add_definition_site(error, self._origin)
                raise

    def _enter(self) -> AbstractContextManager[VariableScope]:
        if self._scope is None:
            return variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter)
        if self._variables_created:
            return variable_scope(self._scope, reuse=True)
        return variable_scope(self._scope, reuse=AUTO_REUSE if self._going_on else None)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._variables_created:
            return self._call_again(args, kwargs)
        mine = self._begin_first_call()
        _CALLS.templates.append(self)
        try:
            result = self._func(*args, **kwargs)
        finally:
            _CALLS.templates.remove(self)
            self._going_on.remove(mine)
        for outer in _CALLS.templates[-1:]:
            outer._inner.append(self)
        self._variables_created = True
        return result

    def _begin_first_call(self) -> _FirstCall:
        """Record that a first call has begun. If first calls are in progress in other threads too,
        permit all of them to reuse each other's variables.
        """
        scopes = scope_stack().scopes
        mine = _FirstCall(scopes, len(scopes) - 1)
        with self._lock:
            others = [call for call in self._going_on if call.scopes is not scopes]
            self._going_on.append(mine)
        for call in [*others, mine] if others else []:
            call.share()
        return mine

    def _call_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function again. If the function creates a variable that is trainable, raise
        ValueError. If the function creates any other variable, log its name.

        Variables that other threads create at the same time are ignored.
        """
        graph = get_default_graph()
        variables: list[Any] = []

        def keep(next_creator: Callable[..., Any], **arguments: Any) -> Any:
            variables.append(next_creator(**arguments))
            return variables[-1]

        before = _ids(graph, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.GLOBAL_VARIABLES)
        with graph._variable_creator_scope(keep):
            result = self._func(*args, **kwargs)
        trained = _ids(graph, GraphKeys.TRAINABLE_VARIABLES) - before
        wrong = [variable for variable in variables if id(variable) in trained]
        if wrong:
            raise ValueError(
                "Trainable variable created when calling a template after the first time, perhaps "
                f"you used tf.Variable when you meant tf.get_variable: {wrong}, in the template "
                f"'{self.variable_scope_name}'"
            )
        others = _ids(graph, GraphKeys.GLOBAL_VARIABLES) - before
        new = [variable for variable in variables if id(variable) in others]
        if new:
            _LOG.info("The template '%s' was called again and made variables: %s", self._name, new)
        return result

    # -- properties

    @property
    def name(self) -> str:
        """The name that was passed to `make_template`, without the suffix that makes it unique."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function, with the arguments that were passed to `make_template` bound to it."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the template's variables. If `create_scope_now_` is false, it is None until
        the template is called.
        """
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        """An older name of `variable_scope`."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of `variable_scope` with a trailing slash, or None if there is no scope yet."""
        if self._scope is None:
            return None
        name = self._scope.name
        return f"{name}/" if name and not name.endswith("/") else name

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The templates that the function called during this template's first call, followed by all
        other variables of the template, under their names in its scope.
        """
        prefix = self.variable_scope_name or ""
        inner = {(template.variable_scope_name or "/"): template for template in self._inner}
        shared = variable_store().variables
        references: dict[str, Any] = {name[len(prefix) : -1]: inner[name] for name in inner}
        for variable in self.variables:
            name = variable.op.name
            if shared.get(name) is variable and not name.startswith(tuple(inner)):
                references[name[len(prefix) :]] = variable
        return [TrackableReference(*item) for item in references.items()]

    # -- its variables in the default graph; none until the first call has finished

    @property
    def variables(self) -> list[Any]:
        """The template's global variables, then its local variables."""
        return self.global_variables + self.local_variables

    weights = variables

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables under the template's scope."""
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The template's global variables that are not trainable."""
        trained = set(map(id, self.trainable_variables))
        return [variable for variable in self.global_variables if id(variable) not in trained]

    non_trainable_weights = non_trainable_variables

    @property
    def global_variables(self) -> list[Any]:
        """The global variables under the template's scope."""
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """The local variables under the template's scope."""
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    def _collected(self, key: str) -> list[Any]:
        if not self._variables_created:
            return []
        graph = get_default_graph()
        return graph.get_collection(key, self.variable_scope_name)


def _ids(graph: Graph, *keys: str) -> set[int]:
    return {id(variable) for key in keys for variable in graph.get_collection(key)}


def _add_definition_site(error: Exception, origin: Origin) -> None:
    """Append the line that created the template, and the lines of its callers, to the message of
    `error`.
    """
    lines = [
        f'  File "{file}", line {line}, in {function}\n    {source}\n'
        for file, line, function, source in reversed(origin.frames)
    ]
    text = "\n\noriginally defined at:\n" + "".join(lines)
    first = str(error.args[0]) if error.args else ""
    error.args = (first + text, *error.args[1:])
    if isinstance(error, OpError):
        error._message += text

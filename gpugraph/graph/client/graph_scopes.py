"""Scopes of a graph: names, devices, control dependencies, colocation.

One small record per graph and thread holds them all (`scope_state`). The context managers below
change it and restore it, also after an exception. `Graph` inherits them from `Scopes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ContextDecorator, contextmanager
from functools import lru_cache
from typing import Any

from gpugraph.base.value_text import shown
from gpugraph.formats.attr_value_messages import plain_attr
from gpugraph.graph.client.creation_origin import scope_place
from gpugraph.graph.client.default_stacks import graph_stack
from gpugraph.graph.client.graph_elements import GraphElements
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scope_state import (
    NO_PLACES,
    ControlDependencies,
    ScopePlaces,
    ScopeState,
    ScopeStates,
    colocate,
    controls_of,
    device_name,
    device_text,
    merged_device,
    requested_device,
)
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_library import as_tensor

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*")
_INNER_NAME = re.compile(r"[A-Za-z0-9_.\-/]*")


@lru_cache(4096)
def is_name(name: str, inside: bool) -> bool:
    """Whether an operation or scope may be called `name`, at the root or inside a scope."""
    return (_INNER_NAME if inside else _NAME).fullmatch(name) is not None


def as_name(name: Any) -> str:
    """The name of an operation or scope as text, also of bytes; TypeError for anything else."""
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")  # which no name may have
    if not isinstance(name, str):
        raise TypeError(f"A node or scope name is a string, but it is {shown(name)}")
    return name


class Scopes(GraphElements):
    """The context managers of a graph, and the unique names that follow from its name scopes."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = ScopeStates()
        self._names: dict[str, int] = {}  # in lower case: how many names begin with it

    @property
    def _scope(self) -> ScopeState:
        return self._threads.state

    def switch_to_thread_local(self) -> None:
        """Does nothing: scopes are each thread's own from the beginning."""

    def get_name_scope(self) -> str:
        """The current name scope without its slash, such as `"a/b"`; `""` at the root."""
        return self._scope.name

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` under the current name scope, with `_1`, `_2`, ... if it is in use already."""
        if type(name) is not str:
            name = as_name(name)
        return self._unique(name, self._threads.state.name, mark_as_used)

    def _unique(self, name: str, scope: str, mark_as_used: bool = True) -> str:
        if scope:
            name = f"{scope}/{name}"
        key = name.lower()
        names = self._names
        with self._lock:
            count = names.get(key, 0)
            if count == 0:
                if mark_as_used:
                    names[key] = 1
                return name
            while (unique := f"{key}_{count}") in names:
                count += 1
            if mark_as_used:
                names[key] = count + 1
                names[unique] = 1
            return unique if key == name else f"{name}_{count}"

    def _op_name(self, name: str | bytes, scope: str) -> str:
        """The name of a new operation in a name scope; `"a/"` is the name `a` as it is."""
        if type(name) is not str:
            name = as_name(name)
        if not is_name(name, scope != ""):
            raise ValueError(f"'{name}' is not a valid node name")
        if name[-1] != "/":
            return self._unique(name, scope)
        name = name[:-1]
        if name in self._by_name:
            raise name_in_use(name)
        if scope and not is_name(name, False):
            raise ValueError(f"'{name}' is not a valid node name")
        self._names.setdefault(name.lower(), 1)
        return name

    def name_scope(self, name: str | bytes | None) -> NameScope:
        """Prefixes the names of the ops made inside; yields the prefix with its slash.

        A name is made unique, `"a/"` re-enters a scope as it is, None or `""` goes to the root.
        ValueError for a name that is no scope name.
        """
        return NameScope(self, name)

    def _scope_of_op(self, name: str) -> NameScope:
        """The name scope of the ops that one function makes; the graph is the default inside."""
        return NameScope(self, name, is_default=True)

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Asks for a device, by name or by a function of the op, for the ops made inside.

        Inner requests go before outer ones, field by field; None clears them. A function is
        given the op, whose `device` is what inner scopes ask for, and its answer replaces that,
        unless it is None. ValueError for a string that is no device specification, RuntimeError
        when a block is left before one inside it.
        """
        request = device_name_or_function
        if request is not None and not callable(request):
            request = device_name(request)
        state = self._scope
        old = state.devices, state.device, state.places
        state.devices = new = (*state.devices, request)
        place = scope_place(device_text(request))
        state.places = ScopePlaces((place, *state.places.devices), state.places.colocations)
        state.device = merged_device(new)
        try:
            yield
        finally:
            if state.devices is not new:
                raise RuntimeError("Exiting device scope without proper scope nesting.")
            state.devices, state.device, state.places = old

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Ops made inside run after `control_inputs`; None clears what outer blocks asked for.

        Accepts operations, tensors, variables and names. TypeError for anything else.
        """
        state = self._scope
        old = state.controls, state.control_flow
        if control_inputs is None:
            state.controls, state.control_flow = (), None
        else:
            state.controls = (*state.controls, ControlDependencies(self._ops_of(control_inputs)))
        try:
            yield
        finally:
            state.controls, state.control_flow = old

    def _ops_of(self, control_inputs: Any) -> list[Operation]:
        if isinstance(control_inputs, (Operation, Tensor, str)) or hasattr(
            control_inputs, "_as_graph_element"
        ):
            control_inputs = [control_inputs]
        ops: dict[Operation, None] = {}
        for item in control_inputs:
            element = item
            if hasattr(item, "handle"):  # a resource variable, or a TensorArray
                element = getattr(item, "op", item.handle)
            if not isinstance(element, (Operation, Tensor, str, bytes)):
                element = getattr(element, "op", element)  # of what is made of tensors
            element = self.as_graph_element(element)
            ops[element.op if isinstance(element, Tensor) else element] = None
        return list(ops)

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Ops made inside share the device of `op`, whatever device scopes say.

        `op` is an operation, a tensor or what becomes one; None with `ignore_existing` clears outer
        requests.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is False")
        state = self._scope
        groups = () if ignore_existing else state.colocate
        places = {} if ignore_existing else state.places.colocations
        if op is not None:
            element = self._colocated(op)
            target = element.op if isinstance(element, Tensor) else element
            groups = (*groups, target)
            places = {**places, target.name: scope_place(None)}
        old = state.colocate, state.devices, state.device, state.places
        state.colocate, state.devices, state.device = groups, (), ""
        state.places = ScopePlaces((), places)
        try:
            yield
        finally:
            state.colocate, state.devices, state.device, state.places = old

    def _colocated(self, op: Any) -> Tensor | Operation:
        element = getattr(op, "handle", op)
        if isinstance(element, (Operation, Tensor, str)) or hasattr(element, "_as_graph_element"):
            return self.as_graph_element(element)
        return as_tensor(element)

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Names the resource container of the stateful ops made inside."""
        state = self._scope
        old = state.container
        state.container = container_name
        try:
            yield container_name
        finally:
            state.container = old

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Ops made inside, of the types that are keys, have the gradient that the value names.

        Values are the names of `tf.RegisterGradient`. TypeError for what is no dict of strings.
        """
        if not isinstance(op_type_map, Mapping):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for item in [*op_type_map.keys(), *op_type_map.values()]:
            if not isinstance(item, str):
                raise TypeError(f"op_type_map must map strings to strings, but holds {item!r}")
        state = self._scope
        old = state.overrides
        state.overrides = {**old, **op_type_map}
        try:
            yield
        finally:
            state.overrides = old

    @contextmanager
    def _attr_scope(self, attr_map: Mapping[str, Any]) -> Iterator[None]:
        """Ops made inside have these attrs too, unless they have such already.

        Values are AttrValue messages or what these hold; None takes an attr of a scope around away.
        TypeError for what is no dict of strings.
        """
        if not isinstance(attr_map, Mapping) or not all(isinstance(key, str) for key in attr_map):
            raise TypeError("attr_map must be a dictionary mapping strings to AttrValue protos")
        state = self._scope
        old = state.attrs
        attrs = {**old, **{key: plain_attr(value) for key, value in attr_map.items()}}
        state.attrs = {key: value for key, value in attrs.items() if value is not None}
        try:
            yield
        finally:
            state.attrs = old

    @contextmanager
    def _variable_creator_scope(self, creator: Callable[..., Any]) -> Iterator[None]:
        """Variables made inside are made by `creator(next_creator, **arguments)`.

        RuntimeError when it is left before a scope entered inside it was.
        """
        state = self._scope
        old = state.creators
        state.creators = new = (*old, creator)
        try:
            yield
        finally:
            nested = state.creators is new
            state.creators = old
            if not nested:
                raise RuntimeError("Exiting variable_creator_scope without proper nesting.")

    def _enter_scopes(self, op: Operation, state: ScopeState) -> None:
        """Gives a new op what this thread's scopes say: device, control inputs, colocation."""
        if state.places is not NO_PLACES:
            op._scope_places = state.places
        if state.devices:
            op._device = requested_device(op, state)
        if state.controls:
            op._control_inputs = controls_of(op._inputs, state)
        if state.colocate:
            colocate(op, state)
        if state.container and op._op_def.is_stateful and op._attrs.get("container") == "":
            op._attrs = {**op._attrs, "container": state.container}
        if state.overrides and op.type in state.overrides:
            op._attrs = {**op._attrs, "_gradient_op_type": state.overrides[op.type]}
        if state.attrs:
            op._attrs = {**state.attrs, **op._attrs}
        if state.control_flow is not None:
            op._control_flow_context = state.control_flow
            state.control_flow.add_op(op)


class NameScope:
    """A `with` block of `Graph.name_scope`; the graph may be the default one inside."""

    __slots__ = ("_graph", "_is_default", "_name", "_outer", "_state")

    __call__ = ContextDecorator.__call__

    def __init__(self, graph: Scopes, name: str | bytes | None, is_default: bool = False) -> None:
        self._graph = graph
        self._name = name
        self._is_default = is_default
        self._state: ScopeState | None = None

    def _recreate_cm(self) -> NameScope:
        return NameScope(self._graph, self._name, self._is_default)

    def __enter__(self) -> str:
        if self._state is not None:
            raise RuntimeError("A name scope can't be entered again inside itself")
        graph, name = self._graph, self._name
        state = graph._threads.state
        new, self._outer = "", state.name
        if name is not None and name != "":
            if type(name) is not str:
                name = as_name(name)
            if not is_name(name, self._outer != ""):
                raise ValueError(f"'{name}' is not a valid scope name")
            new = name[:-1] if name[-1] == "/" else graph._unique(name, self._outer)
        if self._is_default:
            graph_stack.stack.append(graph)
        self._state, state.name = state, new
        return new + "/" if name else ""

    def __exit__(self, *error: Any) -> None:
        assert self._state is not None
        self._state.name, self._state = self._outer, None
        if self._is_default:
            graph_stack.remove(self._graph)


def name_in_use(name: str) -> ValueError:
    """The error of an operation whose name another operation of the graph has."""
    return ValueError(f"An operation named '{name}' is already in the graph")

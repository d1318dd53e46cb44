"""Scopes of a graph: names, devices, control dependencies, colocation.

One `ScopeState` per graph and thread holds all active scopes (`scope_state`). The context managers
of `Scopes` change this state on entry and restore it on exit, also after an exception. `Graph`
inherits from `Scopes`.
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
    """Return whether `name` is a valid name of an operation or scope.

    Args:
      inside: whether the name follows the prefix of a name scope. If the name follows such a
        prefix, the name may also start with `_`, `-` or `/`.
    """
    return (_INNER_NAME if inside else _NAME).fullmatch(name) is not None


def as_name(name: Any) -> str:
    """Return the name of an operation or scope as a string. Raises TypeError if `name` is neither a
    string nor bytes.
    """
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")  # surrogates are invalid in any name
    if not isinstance(name, str):
        raise TypeError(f"A node or scope name is a string, but it is {shown(name)}")
    return name


class Scopes(GraphElements):
    """The scope methods of a graph, and the unique names that name scopes give to operations."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = ScopeStates()
        # by name in lower case: the number of names derived from it
        self._names: dict[str, int] = {}

    @property
    def _scope(self) -> ScopeState:
        return self._threads.state

    def switch_to_thread_local(self) -> None:
        """Do nothing: each thread always has its own scopes."""

    def get_name_scope(self) -> str:
        """Return the current name scope without its slash, such as `"a/b"`. Return `""` at the
        root.
        """
        return self._scope.name

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` under the current name scope, made unique by a suffix `_1`, `_2` and so on.

        Args:
          mark_as_used: whether to reserve the returned name, so that no later call returns it.
        """
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
        """Return the full name of a new operation in a name scope.

        A `name` with a final slash, such as `"a/"`, is the full name `a`. Such a name gets no
        prefix of a scope and no number.
        """
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
        """Prefix the names of the ops that are created inside the block. Yield the prefix with its
        slash.

        A name is made unique within the current scope. A name with a final slash, such as `"a/"`,
        re-enters exactly that scope. None and `""` enter the root scope. Raises ValueError for an
        invalid scope name.
        """
        return NameScope(self, name)

    def _scope_of_op(self, name: str) -> NameScope:
        """Return a name scope for a function that builds ops. Inside the scope, this graph is the
        default graph.
        """
        return NameScope(self, name, is_default=True)

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Request a device for the ops that are created inside the block. The request is a device
        name, or a function that receives the op.

        Inner requests override outer requests, field by field. None clears the requests of outer
        scopes. When a device function is called, the `device` of the new op is the merged request
        of the scopes inside the function's scope. Unless the function returns None, the function's
        result replaces that request. Raises ValueError for a string that is not a device
        specification, and RuntimeError if the program leaves a block before it has left all blocks
        inside it.
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
        """Make ops inside the block run after `control_inputs`. None clears the dependencies of
        outer blocks.

        The elements are operations, tensors, variables or names. Raises TypeError for anything
        else.
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
            if hasattr(item, "handle"):  # the object is a resource variable or a TensorArray
                element = getattr(item, "op", item.handle)
            if not isinstance(element, (Operation, Tensor, str, bytes)):
                element = getattr(element, "op", element)  # composite tensors
            element = self.as_graph_element(element)
            ops[element.op if isinstance(element, Tensor) else element] = None
        return list(ops)

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Colocate the ops that are created inside the block with `op`.

        Device scopes around this block do not apply to these ops.

        Args:
          op: an operation, a tensor or a value convertible to a tensor. None clears the outer
            colocation requests and requires `ignore_existing`.
          ignore_existing: whether to ignore the outer colocation requests.
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
        """Set the resource container of the stateful ops that are created inside the block."""
        state = self._scope
        old = state.container
        state.container = container_name
        try:
            yield container_name
        finally:
            state.container = old

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Override the gradient functions of ops that are created inside the block.

        Raises TypeError for anything but a dict of strings.

        Args:
          op_type_map: maps an op type to the name that `tf.RegisterGradient` gave to the gradient
            function.
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
        """Add attrs to the ops that are created inside the block, unless an op already has an attr
        of the same name.

        Raises TypeError for anything but a dict with string keys.

        Args:
          attr_map: AttrValue messages or plain values, by name. A value None removes an attr that
            an outer scope would add.
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
        """Inside the block, create variables by calls of `creator(next_creator, **arguments)`.

        Raises RuntimeError if the program leaves this scope before it has left all scopes inside
        it.
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
        """Apply this thread's active scopes to a new op."""
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
    """A `with` block of `Graph.name_scope`.

    If `is_default` is true, the graph is also the default graph inside the block.
    """

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
    """Return the error for an operation whose name is in use."""
    return ValueError(f"An operation named '{name}' is already in the graph")

"""Scopes of a graph: names, devices, control dependencies, colocation.

All of it is one small record per graph and thread, `ScopeState`, which the context managers
below change and put back, exceptions or not. `Graph` inherits them from `Scopes`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpugraph.graph.device_name import merge_specs
from gpugraph.graph.operation import Operation
from gpugraph.graph.tensor import Tensor

if TYPE_CHECKING:
    from gpugraph.graph.client import Graph

__all__ = ["ControlDependencies", "DeviceFunction", "ScopeState", "Scopes"]

DeviceFunction = Callable[[Operation], "str | None"]

_ROOT_SCOPE = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_INNER_SCOPE = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class ScopeState(threading.local):
    """What holds for the next operation of one graph in one thread."""

    def __init__(self) -> None:
        self.name = ""
        self.devices: tuple[str | DeviceFunction | None, ...] = ()
        self.device: str | None = ""  # `devices` merged, or None where a function has its say
        self.controls: tuple[ControlDependencies, ...] = ()
        self.colocate: tuple[Operation, ...] = ()
        self.control_flow: Any = None
        self.container = ""


class ControlDependencies:
    """One `with graph.control_dependencies(...)` block, and the ops made in it."""

    __slots__ = ("inputs", "seen")

    def __init__(self, inputs: list[Operation]) -> None:
        self.inputs = inputs
        self.seen: set[Operation] = set()


class Scopes:
    """The context managers of a graph."""

    _scope: ScopeState

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of the ops made inside; yields the prefix with its slash.

        A name is made unique, `"a/"` re-enters a scope as it is, None or `""` goes to the root.
        ValueError for a name that is no scope name.
        """
        graph: Graph = self  # type: ignore[assignment]
        state = self._scope
        old = state.name
        if not name:
            new = ""
        elif not isinstance(name, str):
            raise TypeError(f"A scope name is a string, but it is {name!r}")
        else:
            if not (_INNER_SCOPE if old else _ROOT_SCOPE).match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
            new = name[:-1] if name[-1] == "/" else graph.unique_name(name)
        state.name = new
        try:
            yield new + "/" if new else ""
        finally:
            state.name = old

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Asks for a device, by name or by a function of the op, for the ops made inside.

        Inner requests go before outer ones, field by field; None clears them. ValueError for a
        string that is no device specification.
        """
        request = device_name_or_function
        if request is not None and not callable(request):
            request = request.to_string() if hasattr(request, "to_string") else str(request)
            merge_specs(request, "")  # raises for what is no device name
        state = self._scope
        old = state.devices, state.device
        state.devices = (*state.devices, request)
        state.device = _merged(state.devices)
        try:
            yield
        finally:
            state.devices, state.device = old

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
        graph: Graph = self  # type: ignore[assignment]
        if isinstance(control_inputs, (Operation, Tensor)) or hasattr(
            control_inputs, "_as_graph_element"
        ):
            control_inputs = [control_inputs]
        ops = []
        for item in control_inputs:
            element = graph.as_graph_element(getattr(item, "handle", item))
            op = element.op if isinstance(element, Tensor) else element
            if op not in ops:
                ops.append(op)
        return ops

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Ops made inside share the device of `op`, whatever device scopes say.

        `op` is an operation or a tensor; None with `ignore_existing` clears outer requests.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is False")
        graph: Graph = self  # type: ignore[assignment]
        state = self._scope
        old = state.colocate, state.devices, state.device
        state.devices, state.device = (), ""
        if ignore_existing:
            state.colocate = ()
        if op is not None:
            element = graph.as_graph_element(op)
            state.colocate = (
                *state.colocate,
                element.op if isinstance(element, Tensor) else element,
            )
        try:
            yield
        finally:
            state.colocate, state.devices, state.device = old

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

    def _device_of(self, op: Operation) -> str:
        """The requested device of a new op, by this thread's device stack."""
        state = self._scope
        if state.device is not None:
            return state.device
        merged = ""
        for request in reversed(state.devices):
            if request is None:
                break
            op._set_device(merged)
            asked = request(op) if callable(request) else request
            merged = merge_specs(merged, asked or "")
        return merged

    def _controls_of(self, inputs: Sequence[Tensor]) -> list[Operation]:
        """Control inputs of a new op: a block adds none where an input was made inside it."""
        makers = {tensor.op for tensor in inputs}
        found: dict[Operation, None] = {}
        for block in self._scope.controls:
            if block.seen.isdisjoint(makers):
                found.update(dict.fromkeys(block.inputs))
        return [op for op in found if op not in makers]

    def _colocate(self, op: Operation) -> None:
        """Puts `op` into the colocation groups of this thread's stack."""
        groups = set(op._attrs.get("_class", []))
        for target in self._scope.colocate:
            groups.update(target.colocation_groups())
            if target.device:
                op._set_device(target.device)
        op._attrs["_class"] = sorted(groups)


def _merged(requests: Sequence[str | DeviceFunction | None]) -> str | None:
    merged = ""
    for request in reversed(requests):
        if request is None:
            break
        if callable(request):
            return None
        merged = merge_specs(merged, request)
    return merged

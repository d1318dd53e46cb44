"""`ScopeState`, a graph's active scopes in a thread, and their effect on a new operation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.graph.client.creation_origin import TraceableObject
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import check_valid, merge_specs

DeviceFunction = Callable[[Operation], Any]
"""A function from a new op to the device that it requests: a name, a spec, or None for no request.
"""


class ScopePlaces(NamedTuple):
    """The lines of the program that entered the active device and colocation scopes.

    Args:
      devices: the lines of the device scopes, the innermost scope first.
      colocations: the lines of the colocation scopes, by the name of the operation to colocate
        with.
    """

    devices: tuple[TraceableObject, ...]
    colocations: Mapping[str, TraceableObject]


NO_PLACES = ScopePlaces((), {})


class ScopeState:
    """The scopes that apply to the next operation of one graph in one thread."""

    __slots__ = (
        "attrs", "automatic", "colocate", "container", "control_flow", "controls", "creators",
        "device", "devices", "name", "overrides", "places", "replication",
    )  # fmt: skip

    def __init__(self) -> None:
        self.name = ""
        self.devices: tuple[str | DeviceFunction | None, ...] = ()
        self.device: str | None = ""  # all `devices` merged, or None if one of them is a function
        self.controls: tuple[ControlDependencies, ...] = ()
        self.colocate: tuple[Operation, ...] = ()
        self.control_flow: Any = None
        self.automatic: Any = None  # the block that orders stateful ops, or None
        self.container = ""
        self.attrs: Mapping[str, Any] = {}
        self.overrides: Mapping[str, str] = {}  # by op type, the name of its gradient function
        self.places = NO_PLACES
        # the creators of variables, the innermost last
        self.creators: tuple[Callable[..., Any], ...] = ()
        # the contexts of strategies, the innermost last
        self.replication: tuple[Any, ...] = ()


class ScopeStates(threading.local):
    """The scopes of each thread. A new thread starts outside of all scopes."""

    def __init__(self) -> None:
        self.state = ScopeState()


class ControlDependencies:
    """One `with graph.control_dependencies(...)` block.

    Attributes:
      inputs: the block's control inputs.
      seen: the operations that have been created inside the block.
    """

    __slots__ = ("inputs", "seen")

    def __init__(self, inputs: list[Operation]) -> None:
        self.inputs = inputs
        self.seen: set[Operation] = set()


def requested_device(op: Operation, state: ScopeState) -> str:
    """Return the device that the scopes request for a new op. Device functions receive the op."""
    if state.device is not None:
        return state.device
    merged = ""
    for request in reversed(state.devices):
        if request is None:
            break
        if callable(request):
            op._set_device(merged)
            answer = request(op)
            merged = merged if answer is None else device_name(answer)
        else:
            merged = merge_specs(merged, request)
    return merged


def device_name(device: Any) -> str:
    """Return the text of a device name or spec. Raises ValueError if the name or spec is
    invalid.
    """
    name = device.to_string() if hasattr(device, "to_string") else str(device)
    check_valid(name)
    return name


def device_text(request: str | DeviceFunction | None) -> str:
    """Return a device request as text, as `Operation._device_assignments` shows it.

    The text of a device function is its name, file and line.
    """
    if not callable(request):
        return str(request)
    code = getattr(request, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else ("unknown", -1)
    return f"{getattr(request, '__name__', type(request).__name__)}<{file}, {line}>"


def controls_of(inputs: Sequence[Tensor], state: ScopeState) -> tuple[Operation, ...]:
    """Return the control inputs that the active `control_dependencies` blocks add to a new op.

    A block adds none if an input of the op was created inside it, because that input already waits
    for the block's control inputs.
    """
    makers = {tensor.op for tensor in inputs}
    controls: dict[Operation, None] = {}
    for block in state.controls:
        if block.seen.isdisjoint(makers):
            controls.update(dict.fromkeys(block.inputs))
    return tuple([op for op in controls if op not in makers])


def colocate(op: Operation, state: ScopeState) -> None:
    """Add `op` to the groups of the active colocation scopes, and copy the device of their
    operations.
    """
    groups = set(op._attrs.get("_class", []))
    for target in state.colocate:
        groups.update(target.colocation_groups())
        if target.device:
            op._set_device(target.device)
    op._attrs = {**op._attrs, "_class": sorted(groups)}


def merged_device(requests: Sequence[str | DeviceFunction | None]) -> str | None:
    """Return the merge of all device requests. Inner requests override outer requests. If a request
    is a function, return None.

    Args:
      requests: the device requests, the outermost first.
    """
    merged = ""
    for request in reversed(requests):
        if request is None:
            break
        if callable(request):
            return None
        merged = merge_specs(merged, request)
    return merged

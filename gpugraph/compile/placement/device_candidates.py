"""The devices that can run a group of ops. If there is no such device, an error gives the
reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpugraph.base.dtypes import QUANTIZED_DTYPES, string, variant
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.unit.compile_unit import Target, node_error
from gpugraph.devices import DeviceFactory
from gpugraph.graph.device_names import check_placeable, combine_specs, matches, without_type_and_id
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel, kernel_device_types


@dataclass(slots=True, eq=False)
class ColocationGroup:
    """Nodes that must be on one device.

    Args:
      why: the reason why each node joined the group, by node id.
    """

    nodes: list[Node]
    why: dict[int, str] = field(default_factory=dict)


class Candidates:
    """The devices of a session, sorted by the priority of their types, then by number."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._soft = target.config.allow_soft_placement
        ranked = sorted(
            enumerate(target.devices),
            key=lambda pair: (
                -DeviceFactory.device_priority(pair[1].device_type),
                pair[1].device_type,
                pair[0],
            ),
        )
        self._devices = [device for _, device in ranked]
        self._types = list(dict.fromkeys(device.device_type for device in self._devices))
        self._plain: dict[tuple[str, tuple[str, ...]], tuple[list[str], str]] = {}

    def of(self, group: ColocationGroup) -> tuple[list[str], str]:
        """Return the names of the devices that can run the group, the preferred device first, and
        the reason for the preference. Raises InvalidArgumentError if no device can run the group.
        """
        if len(group.nodes) == 1:
            return self.of_one(group.nodes[0])
        return self._choose(group, self._request(group), self._types_of(group))

    def check_home(self, group: ColocationGroup, home: str) -> None:
        """Raise InvalidArgumentError unless each node of the group can run on `home`, the device
        that holds the group's variable.
        """
        kind = next(device.device_type for device in self._devices if device.name == home)
        for node in group.nodes:
            if not _runs_on(node, kind):
                why = f"it has no kernel there: {_why_not(ColocationGroup([node]), kind)}"
            elif not self._soft and not matches(node.requested_device, home):
                why = f"it was requested on '{node.requested_device}'"
            else:
                continue
            raise _cannot_assign(
                node,
                f"a variable that it must share a device with lives on {home} since an earlier "
                f"run, but {why}. Pin the variable to a device that suits both.",
            )

    def of_one(self, node: Node) -> tuple[list[str], str]:
        """Return the names of the devices that can run a node without a group, the preferred device
        first, and the reason for the preference.
        """
        types = tuple([kind for kind in self._types if _runs_on(node, kind)])
        key = node.requested_device, types
        known = self._plain.get(key)
        if known is not None and known[0]:
            return known
        try:
            check_placeable(node.requested_device)
        except ValueError as error:
            raise _malformed(node, error) from error
        chosen = self._plain[key] = self._choose(
            ColocationGroup([node]), node.requested_device, [*types]
        )
        return chosen

    def _types_of(self, group: ColocationGroup) -> list[str]:
        types = self._types
        for node in group.nodes:
            types = [kind for kind in types if _runs_on(node, kind)]
        return types

    def _request(self, group: ColocationGroup) -> str:
        request = ""
        for node in group.nodes:
            if not node.requested_device:
                continue
            try:
                check_placeable(node.requested_device)
                request = combine_specs(
                    request, node.requested_device, allow_soft_placement=self._soft
                )
            except InvalidArgumentError as error:
                raise _cannot_assign(
                    node,
                    "Could not satisfy explicit device specification "
                    f"'{node.requested_device}' because the node {node.name} was colocated with "
                    f"a group of nodes that required incompatible device '{request}': "
                    f"{_names(group, node)}",
                ) from error
            except ValueError as error:
                raise _malformed(node, error) from error
        return request

    def _choose(
        self, group: ColocationGroup, request: str, types: list[str]
    ) -> tuple[list[str], str]:
        if not types:
            raise self._no_type(group)
        fitting = [device for device in self._devices if matches(request, device.name)]
        names = [device.name for device in fitting if device.device_type in types]
        if names:
            return names, self._reason(group, request, types)
        if self._soft:
            relaxed = without_type_and_id(request)
            names = [
                device.name
                for device in self._devices
                if device.device_type in types and matches(relaxed, device.name)
            ]
            if names:
                why = "has no kernel there" if fitting else "there is no such device"
                return names, f"soft placement: '{request}' was requested, but {why}"
        raise self._unsatisfied(group, request, bool(fitting))

    def _reason(self, group: ColocationGroup, request: str, types: list[str]) -> str:
        if request:
            return f"requested '{request}'"
        preferred = self._types[0]
        if len(self._types) == 1:
            return f"the session has only {preferred} devices"
        if types[0] == preferred:
            return f"{preferred} has the highest priority"
        return f"no {preferred} kernel: {_why_not(group, preferred)}"

    def _no_type(self, group: ColocationGroup) -> InvalidArgumentError:
        node = group.nodes[0]
        if len(group.nodes) == 1:
            known = ", ".join(kernel_device_types(node.type)) or "no device type"
            types = ", ".join(
                f"{key}={node.attrs[key].name}"
                for key, attr in node.op_def.attrs.items()
                if attr.kind == "type" and key in node.attrs
            )
            return _cannot_assign(
                node,
                f"no kernel for op type {node.type} ({types}) runs on any device of the session "
                f"({', '.join(self._types)}). Kernels are registered for: {known}",
            )
        other = group.nodes[-1]
        return _cannot_assign(
            node,
            f"Cannot colocate nodes '{node.name}' and '{other.name}' because no device type "
            f"supports both and all else of their group: {_names(group, node)}",
        )

    def _unsatisfied(
        self, group: ColocationGroup, request: str, device_exists: bool
    ) -> InvalidArgumentError:
        node = next((member for member in group.nodes if member.requested_device), group.nodes[0])
        if not device_exists:
            names = ", ".join(sorted(device.name for device in self._devices))
            gpu = "GPU" in request.upper() and self._target.no_gpu
            return _cannot_assign(
                node,
                f"node {node.name} was explicitly assigned to {request} but available devices are "
                f"[ {names} ]. Make sure the device specification refers to a valid device."
                + (f" There is no GPU: {self._target.no_gpu}." if gpu else ""),
            )
        kind = next(d.device_type for d in self._devices if matches(request, d.name))
        return _cannot_assign(
            node,
            f"Could not satisfy explicit device specification '{request}' because no supported "
            f"kernel for {kind} devices is available: {_why_not(group, kind)}. Set "
            "allow_soft_placement to let it run elsewhere.",
        )


_STRINGS_ARE_HANDLES = frozenset(("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor"))
"""Op types whose string inputs or outputs are names of tensors. The strings are on the host, while
the tensors are on the op's device, so these ops may run on GPUs.
"""


_ON_HOST = frozenset({string, variant, *QUANTIZED_DTYPES})
"""The dtypes that only kernels of the CPU support."""


def _runs_on(node: Node, device_type: str) -> bool:
    entry = find_kernel(node.type, device_type, node.attrs)
    if entry is None or isinstance(entry.kernel, HostOnly):
        return False
    if device_type == "CPU":
        return True
    if node.type in _STRINGS_ARE_HANDLES:
        return True
    return _ON_HOST.isdisjoint(node.output_types) and _ON_HOST.isdisjoint(node.input_types)


def _why_not(group: ColocationGroup, device_type: str) -> str:
    """Return the reason why the group can't run on a device type, with the name of the first node
    that has no kernel for this device type.
    """
    for node in group.nodes:
        entry = find_kernel(node.type, device_type, node.attrs)
        if entry is None:
            known = ", ".join(kernel_device_types(node.type)) or "none"
            return f"{node.type} ('{node.name}') has none; it has kernels for {known}"
        if isinstance(entry.kernel, HostOnly):
            return f"{node.type} ('{node.name}'): {entry.kernel.reason}"
        if not _runs_on(node, device_type):
            types = {*node.input_types, *node.output_types} & _ON_HOST
            return f"'{node.name}' handles {', '.join(sorted(f'{dtype.name}s' for dtype in types))}"
    return "no member forbids it"


def _names(group: ColocationGroup, but: Node) -> str:
    names = [f"'{node.name}'" for node in group.nodes if node is not but]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _malformed(node: Node, error: ValueError) -> InvalidArgumentError:
    return node_error(
        node,
        f"Malformed device specification '{node.requested_device}' in node: {node.name}: {error}",
    )


def _cannot_assign(node: Node, why: str) -> InvalidArgumentError:
    return node_error(node, f"Cannot assign a device for operation {node.name}: {why}")

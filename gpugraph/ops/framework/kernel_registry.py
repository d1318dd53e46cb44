"""The registry of kernels: which op types run on which device types, and with which kernel.

An op's own kernels come with its declaration. Programs add theirs with `register_kernel`, for a
new device type or, with a higher priority, in place of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import AlreadyExistsError, invalid_argument
from gpugraph.kernel import Kernel
from gpugraph.ops.op_index import load


class HostOnly(NamedTuple):
    """The declared absence of a kernel, with its reason, which placement errors repeat."""

    reason: str


class KernelDef(NamedTuple):
    """A kernel of an op type on a device type, for those dtypes of its type attrs (all: {})."""

    op_type: str
    device_type: str
    kernel: Kernel | HostOnly
    types: Mapping[str, frozenset[DType]] = MappingProxyType({})
    priority: int = 0
    is_ours: bool = False

    def accepts(self, attrs: Mapping[str, Any]) -> bool:
        """Return whether it can run nodes with these attrs."""
        return all(attrs.get(key) in allowed for key, allowed in self.types.items())


_KERNELS: dict[tuple[str, str], list[KernelDef]] = {}


def register_kernel(
    op_type: str,
    device_type: str,
    kernel: Kernel | HostOnly,
    *,
    types: Mapping[str, Sequence[DType]] | None = None,
    priority: int = 0,
) -> None:
    """Add a program's kernel; among those that accept a node's dtypes the highest priority runs.

    AlreadyExistsError for a second one of the same op type, device type, dtypes and priority.
    """
    load(op_type)
    add_kernel(op_type, device_type, kernel, types=types, priority=priority, is_ours=False)


def add_kernel(
    op_type: str,
    device_type: str,
    kernel: Kernel | HostOnly,
    *,
    types: Mapping[str, Sequence[DType]] | None = None,
    priority: int = 0,
    is_ours: bool = True,
) -> None:
    """Add a kernel, by default one of the op library's own. Errors as of `register_kernel`."""
    if not op_type or not device_type:
        raise invalid_argument("A kernel has an op type and a device type")
    chosen = {key: frozenset(allowed) for key, allowed in (types or {}).items()}
    kernels = _KERNELS.setdefault((op_type, device_type), [])
    for other in kernels:
        if other.priority == priority and other.types == chosen:
            raise AlreadyExistsError(
                None, None, f"A kernel of '{op_type}' for {device_type} of priority {priority} is "
                "already registered; give yours a higher one to replace it",
            )  # fmt: skip
    kernels.append(KernelDef(op_type, device_type, kernel, chosen, priority, is_ours))
    kernels.sort(key=lambda entry: -entry.priority)


def find_kernel(op_type: str, device_type: str, attrs: Mapping[str, Any]) -> KernelDef | None:
    """Return the kernel for a node with these attrs; if there is none, None or a HostOnly one."""
    for entry in _KERNELS.get((op_type, device_type), ()):
        if not entry.types or entry.accepts(attrs):
            return entry
    return None


def kernels_of(op_type: str) -> list[KernelDef]:
    """Return all kernels of an op type, on all device types."""
    return [
        kernel for (name, _), kernels in _KERNELS.items() if name == op_type for kernel in kernels
    ]


def is_ours(op_type: str, device_type: str, attrs: Mapping[str, Any]) -> bool:
    """Return whether our kernel, if any, runs such a node: an equivalent op may then replace it."""
    entry = find_kernel(op_type, device_type, attrs)
    return entry is None or entry.is_ours


def kernel_device_types(op_type: str) -> list[str]:
    """Return the device types that have any kernel for `op_type`."""
    return [
        device_type
        for (name, device_type), entries in _KERNELS.items()
        if name == op_type and any(not isinstance(entry.kernel, HostOnly) for entry in entries)
    ]

"""The registry of kernels. It determines on which device types an op type runs, and with which
kernel.

The library's kernels are registered by the declaration of their op. Programs add kernels with
`register_kernel`, for a new device type or, with a higher priority, to replace a kernel of the
library.
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
    """The declaration that an op has no kernel on a device type, with the reason.

    Placement errors quote the reason.
    """

    reason: str


class KernelDef(NamedTuple):
    """A kernel of an op type on a device type.

    Args:
      types: a dict from type attrs to the dtypes that the kernel supports, and from other attrs to
        the values that it supports. It is empty if the kernel supports all dtypes.
      is_ours: whether the kernel belongs to the library, not to a program.
    """

    op_type: str
    device_type: str
    kernel: Kernel | HostOnly
    types: Mapping[str, frozenset[Any]] = MappingProxyType({})
    priority: int = 0
    is_ours: bool = False

    def accepts(self, attrs: Mapping[str, Any]) -> bool:
        """Return whether the kernel supports these attrs of a node."""
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
    """Register a program's kernel. If several kernels support a node's dtypes, the kernel with the
    highest priority runs.

    Raises AlreadyExistsError if there is a kernel with the same op type, device type, dtypes and
    priority.

    Args:
      types: a dict from type attrs to the supported dtypes. By default the kernel supports all
        dtypes.
    """
    load(op_type)
    add_kernel(op_type, device_type, kernel, types=types, priority=priority, is_ours=False)


def add_kernel(
    op_type: str,
    device_type: str,
    kernel: Kernel | HostOnly,
    *,
    types: Mapping[str, Sequence[Any]] | None = None,
    priority: int = 0,
    is_ours: bool = True,
) -> None:
    """Register a kernel, by default a kernel of the library. See `register_kernel` for arguments
    and errors.
    """
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
    """Return the kernel for a node with these attrs, or the `HostOnly` that is registered instead
    of a kernel. If there is neither, return None.
    """
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
    """Return whether the library's kernel, or no kernel at all, is registered for a node with these
    attrs.

    The compiler may then replace the node with an equivalent op.
    """
    entry = find_kernel(op_type, device_type, attrs)
    return entry is None or entry.is_ours


def kernel_device_types(op_type: str) -> list[str]:
    """Return the device types on which `op_type` has a kernel."""
    return [
        device_type
        for (name, device_type), entries in _KERNELS.items()
        if name == op_type and any(not isinstance(entry.kernel, HostOnly) for entry in entries)
    ]

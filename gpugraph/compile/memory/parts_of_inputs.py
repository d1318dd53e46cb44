"""Ops whose outputs are contiguous parts of one input, such as the rows of an Unpack.

The outputs of these ops need no memory and no step. They are found from the copies that an op
declares (`ViewCopies`), over arrays whose contents are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import OBJECTS
from gpugraph.base.errors import OpError
from gpugraph.base.sizes import is_open
from gpugraph.compile.analysis.fusibility import node_signature
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import NodeSignature, ViewCopies
from gpugraph.ops.framework.kernel_registry import is_ours
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_ALIGNMENT = 16
"""GPU libraries and the wide loads of kernels require that an array's address is a multiple of so
many bytes."""


_WRONG_ARGUMENTS = (ValueError, TypeError, IndexError, NotImplementedError, OpError)


class Parts(NamedTuple):
    """The outputs of an op as parts of one of its inputs.

    Args:
      input: the index of the input.
      starts: for each output, the position of its first byte in the input.
    """

    input: int
    starts: Sequence[int]


def parts_of(unit: Unit, node: Node) -> Parts | None:
    """Return the parts of an input that are the node's outputs, or None if the outputs are not
    contiguous, aligned parts of known size.

    If tensors are swapped to the host, an op always copies.
    """
    decl = DECLARATIONS.get(node.type)
    if decl is None or not isinstance(decl.native, ViewCopies) or decl.memory.view:
        return None
    if unit.swaps is not None or node.op_def.is_stateful:
        return None
    if any(dtype.base_dtype in OBJECTS for dtype in (*node.input_types, *node.output_types)):
        return None
    if not is_ours(node.type, unit.device_types[node.assigned_device], node.attrs):
        return None
    signature = node_signature(unit, node)
    if signature is None or _has_open(signature):
        return None
    try:
        return _parts(decl.native, signature)
    except MemoryError:  # no stand-in is that large; the arena refuses the tensor itself
        return None


def _has_open(signature: NodeSignature) -> bool:
    """Return whether a size, or the value of a host input, is open."""
    values: list[Any] = [np.asarray(value).flat for value in signature.host_values.values()]
    shapes = (*signature.input_shapes, *signature.output_shapes)
    return any(is_open(sizes) for sizes in (*shapes, *values))


def _parts(native: ViewCopies, signature: NodeSignature) -> Parts | None:
    slots = signature.device_inputs()
    sources = [
        _stand_in(signature.input_shapes[slot], signature.input_types[slot]) for slot in slots
    ]
    targets = [
        _stand_in(*output) for output in zip(signature.output_shapes, signature.output_types)
    ]
    pairs = _pairs(native, signature, sources, targets)
    if len(pairs) != len(targets) or not all(target.size for target in targets):
        return None
    found: set[int] = set()
    starts: list[int] = []
    for (view, written), target in zip(pairs, targets):
        index = _holder(view, sources)
        if index is None or view.dtype != target.dtype or view.size != target.size:
            return None
        is_whole = _address(written) == _address(target) and written.size == target.size
        if not is_whole or not (written.flags.c_contiguous and view.flags.c_contiguous):
            return None
        starts.append(_address(view) - _address(sources[index]))
        found.add(slots[index])
    if len(found) != 1 or any(start % _ALIGNMENT for start in starts):
        return None
    return Parts(found.pop(), starts)


def _pairs(
    native: ViewCopies, signature: NodeSignature, sources: Sequence[Any], targets: Sequence[Any]
) -> Sequence[tuple[Any, Any]]:
    """Return the copies, or none if the op's arguments are wrong, which its kernel reports."""
    try:
        return native.views(signature, *sources, *targets)
    except _WRONG_ARGUMENTS:
        return []


def _stand_in(shape: Sequence[int], dtype: Any) -> Any:
    """Return an array whose memory is not accessed, so that the system allocates none."""
    return np.empty(tuple(shape), dtype.as_numpy_dtype)


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _holder(view: Any, sources: Sequence[Any]) -> int | None:
    """Return the index of the array in whose memory a view lies, or None."""
    if not isinstance(view, np.ndarray):
        return None
    address = _address(view)
    for index, source in enumerate(sources):
        start = _address(source)
        if start <= address and address + view.nbytes <= start + source.nbytes:
            return index
    return None

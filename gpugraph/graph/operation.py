"""Operation: one node of the client graph, and the user's line that made it.

An operation is made by its graph and immutable afterwards, but for `_update_input` and
`_add_control_inputs`, by which loops (and mistakes) are closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpugraph.dtypes import DType
from gpugraph.graph.op_def import NodeDef, OpDef
from gpugraph.graph.origin import Origin
from gpugraph.graph.stack import session_for
from gpugraph.graph.tensor import Tensor

if TYPE_CHECKING:
    from gpugraph.graph.client import Graph

__all__ = ["Operation"]


class Operation:
    """A node: op type, input tensors, control inputs, attrs, requested device, outputs."""

    __slots__ = (
        "__weakref__",
        "_attrs",
        "_control_flow_context",
        "_control_inputs",
        "_device",
        "_id",
        "_inputs",
        "_op_def",
        "_outputs",
        "graph",
        "name",
        "origin",
    )

    def __init__(
        self,
        graph: Graph,
        name: str,
        op_def: OpDef,
        inputs: list[Tensor],
        output_types: Sequence[DType],
        attrs: dict[str, Any],
        origin: Origin,
    ) -> None:
        self.graph = graph
        self.name = name
        self.origin = origin
        self._op_def = op_def
        self._inputs = inputs
        self._attrs = attrs
        self._control_inputs: list[Operation] = []
        self._control_flow_context: Any = None
        self._device = ""
        self._id = -1
        self._outputs = [Tensor(self, index, dtype) for index, dtype in enumerate(output_types)]
        for tensor in inputs:
            if tensor._consumers is None:
                tensor._consumers = [self]
            else:
                tensor._consumers.append(self)

    @property
    def type(self) -> str:
        """The op type, such as `"MatMul"`."""
        return self._op_def.name

    @property
    def op_def(self) -> OpDef:
        return self._op_def

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(self._inputs)

    @property
    def outputs(self) -> list[Tensor]:
        return list(self._outputs)

    @property
    def control_inputs(self) -> list[Operation]:
        """Operations that must run before this one, beside the makers of its inputs."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The device that was asked for, or the empty string."""
        return self._device

    def _set_device(self, device: str) -> None:
        self._device = device

    @property
    def attrs(self) -> dict[str, Any]:
        """The attrs, by name: do not change them."""
        return self._attrs

    def get_attr(self, name: str) -> Any:
        """The attr's value; ValueError when the operation has none of that name."""
        if name not in self._attrs:
            raise ValueError(
                f"No attr named '{name}' in operation '{self.name}' of type {self.type}; it has "
                f"{sorted(self._attrs)}"
            )
        return self._attrs[name]

    @property
    def node_def(self) -> NodeDef:
        """This operation as data."""
        inputs = [
            tensor.op.name if tensor.value_index == 0 else tensor.name for tensor in self._inputs
        ]
        inputs += [f"^{op.name}" for op in self._control_inputs]
        return NodeDef(self.name, self.type, inputs, self._device, dict(self._attrs))

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """(file, line, function, text) of the user's innermost lines that made this."""
        return self.origin.frames

    def colocation_groups(self) -> list[bytes]:
        """Names `loc:@op` of the groups this shares a device with, its own name by default."""
        groups: list[bytes] = self._attrs.get("_class", [])
        return groups or [f"loc:@{self.name}".encode()]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs this in `session`, or in the default session; ValueError if there is none."""
        session_for(self.graph, session, "execute operation using `run()`").run(self, feed_dict)

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replaces input `index`; TypeError for a tensor of another dtype."""
        self.graph._check_not_finalized()
        old = self._inputs[index]
        if tensor.graph is not self.graph:
            raise ValueError(f"{tensor!r} must be from the same graph as {self!r}.")
        if tensor.dtype.base_dtype is not old.dtype.base_dtype:
            raise TypeError(
                f"Input {index} of '{self.name}' is {old.dtype.name}; it can't become "
                f"{tensor.name}, which is {tensor.dtype.name}"
            )
        if old._consumers is not None:
            old._consumers.remove(self)
        self._inputs[index] = tensor
        tensor._consumers = [*(tensor._consumers or []), self]
        self.graph._note_change(self)

    def _add_control_inputs(self, ops: Sequence[Operation]) -> None:
        """Adds control inputs that are not there yet."""
        self.graph._check_not_finalized()
        for op in ops:
            if op.graph is not self.graph:
                raise ValueError(f"{op!r} must be from the same graph as {self!r}.")
            if op not in self._control_inputs:
                self._control_inputs.append(op)
        self.graph._note_change(self)

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)

"""Access to the operations and tensors of a graph by name."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import Any

from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor


def _need_string(kind: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} names are strings, not {type(name).__name__}.")


_MAX_COMPARED = 3000
"""The maximum number of operations to compare with a missing name."""


class GraphElements:
    """The operations of a graph in creation order and by name. `Graph` inherits from this class."""

    def __init__(self) -> None:
        self._lock = new_rlock()
        self._ops: list[Operation] = []
        self._by_name: dict[str, Operation] = {}

    def get_operations(self) -> list[Operation]:
        """Return all operations, in creation order."""
        return list(self._ops)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation `name`. Raises KeyError if there is no such operation, and
        ValueError if `name` is the name of a tensor.
        """
        _need_string("Operation", name)
        operation = self.as_graph_element(name, allow_tensor=False)
        assert isinstance(operation, Operation)
        return operation

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor `"op:index"`. Raises KeyError if there is no such tensor, and
        ValueError if `name` is the name of an operation.
        """
        _need_string("Tensor", name)
        tensor = self.as_graph_element(name, allow_operation=False)
        assert isinstance(tensor, Tensor)
        return tensor

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """Return the tensor or operation that `obj` is, names or represents.

        A variable represents a tensor or an operation.

        Raises TypeError if `obj` is none of these. Raises ValueError if the element belongs to
        another graph, or if the caller does not allow an element of this kind. Raises KeyError if
        the graph has no such name.

        Args:
          allow_tensor: whether the result may be a tensor.
          allow_operation: whether the result may be an operation.
        """
        if not (allow_tensor or allow_operation):
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        if not isinstance(obj, (Tensor, Operation, str)) and hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, (str, bytes)):
            name = obj if isinstance(obj, str) else obj.decode()
            return self._element_named(name, allow_tensor, allow_operation)
        if not (isinstance(obj, Tensor) and allow_tensor) and not (
            isinstance(obj, Operation) and allow_operation
        ):
            allowed = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {allowed}.")
        if obj.graph is not self:
            raise ValueError(f"{obj!r} is not an element of this graph.")
        return obj

    def _element_named(
        self, name: str, allow_tensor: bool, allow_operation: bool
    ) -> Tensor | Operation:
        op_name, colon, index = name.partition(":")
        op = self._by_name.get(op_name)
        if not colon:
            if not allow_operation:
                raise ValueError(
                    f"The name '{name}' is not a Tensor's: tensor names have the form "
                    '"<op_name>:<output_index>"'
                    + (
                        f"; '{name}' is an Operation."
                        if op is not None
                        else f".{self._similar(op_name, ':0')}"
                    )
                )
            if op is None:
                raise KeyError(
                    f"The name '{name}' refers to an Operation not in the graph."
                    f"{self._similar(op_name)}"
                )
            return op
        if not (index.isascii() and index.isdigit()):
            raise ValueError(
                f"The name '{name}' looks like a tensor name, but is not of the form "
                '"<op_name>:<output_index>".'
            )
        if not allow_tensor:
            raise ValueError(f"The name '{name}' refers to a Tensor, not an Operation.")
        if op is None:
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{op_name}', does not exist in the graph.{self._similar(op_name, f':{index}')}"
            )
        if int(index) >= len(op._outputs):
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{op_name}', exists but only has {len(op._outputs)} outputs."
            )
        return op._outputs[int(index)]

    def _similar(self, op_name: str, suffix: str = "") -> str:
        """Return a sentence with the names of operations that are similar to a missing name, each
        with the suffix. Return "" if there are none.

        Equal names in other scopes come first. If the graph is large, only its first operations are
        compared, so that programs can try many names.
        """
        names = list(islice(self._by_name, _MAX_COMPARED))
        same = [name for name in names if name.endswith(f"/{op_name}")]
        similar = get_close_matches(op_name, names, cutoff=0.75)
        near = [f"'{name}{suffix}'" for name in dict.fromkeys([*same, *similar])][:3]
        return f" Similar names: {', '.join(near)}." if near else ""

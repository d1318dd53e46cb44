"""Tensors with values, for the functions of `tf.py_function`.

Such a function runs while a session runs a graph, and its tensors have values. These tensors belong
to an `EagerGraph`. An op on such tensors is added to this graph, and is computed by a separate
session when the function reads a value (`tensor.numpy()`, `if tensor:`) or returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.node_messages import is_stateful_in_tensorflow
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scope_state import ScopeState
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.session import Session


class EagerTensor(Tensor):
    """A tensor of an `EagerGraph`. The value of the tensor is computed when it is first read."""

    __slots__ = ()

    def numpy(self) -> Any:
        """Return the value: a NumPy array, a NumPy scalar, or bytes."""
        graph: Any = self.op.graph
        value = graph.values_of([self])[0]
        return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value

    def __bool__(self) -> bool:  # type: ignore[override]
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __index__(self) -> int:
        return int(self.numpy().__index__())

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.numpy())

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return (self[index] for index in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.numpy(), dtype=dtype)

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self.numpy()!r}>"

    __str__ = __repr__
    __hash__ = Tensor.__hash__


class EagerGraph(Graph):
    """A graph whose tensors have values. A value is computed when it is first read, and then
    kept.
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[Tensor, Any] = {}
        self._done = 0  # the effects of this many operations have happened

    def _add(self, op: Operation, state: ScopeState) -> None:
        super()._add(op, state)
        for tensor in op._outputs:
            tensor.__class__ = EagerTensor

    def with_value(self, value: Any) -> Tensor:
        """Return a tensor whose value is the array `value`."""
        array = convert_to_tensor(value) if isinstance(value, bytes) else None
        if array is not None:
            return array
        tensor: Tensor = raw_ops.Placeholder(
            dtype=convert_to_tensor(value).dtype, shape=np.shape(value)
        )
        self._values[tensor] = value
        return tensor

    def values_of(self, tensors: Sequence[Tensor]) -> list[Any]:
        """Return the values of tensors. First run all earlier ops of the graph that have effects
        and have not run yet.
        """
        needed = list(dict.fromkeys(tensor for tensor in tensors if self._known(tensor) is None))
        effects = [
            op for op in self._ops[self._done :]
            if is_stateful_in_tensorflow(op._op_def) and not op._outputs
        ]  # fmt: skip
        if needed or effects:
            self._done = len(self._ops)
            with Session(graph=self) as session:
                values, _ = session.run([needed, effects], dict(self._values))
            self._values.update(zip(needed, values))
        return [self._known(tensor) for tensor in tensors]

    def _known(self, tensor: Tensor) -> Any:
        value = self._values.get(tensor)
        if value is None and tensor.op.type == "Const":
            value = np.asarray(tensor.op._attrs["value"])
        return value

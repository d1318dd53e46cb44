"""Tensor: the symbolic output of an operation.

Tensors compare and hash by identity. The dict `OPERATORS` holds the functions behind Python's
operators. The op library fills this dict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import OperatorNotAllowedInGraphError
from gpugraph.base.misfit import misfit_of
from gpugraph.base.shapes import TensorShape, as_tensor_shape
from gpugraph.graph.client.autograph_status import not_allowed
from gpugraph.graph.client.default_stacks import session_for
from gpugraph.graph.client.identity_reference import Reference
from gpugraph.graph.op_library import OPERATORS

if TYPE_CHECKING:
    from gpugraph.graph.client.client_graph import Graph
    from gpugraph.graph.client.operation import Operation


class _SymbolicTensorError(NotImplementedError, TypeError):
    """The error for a symbolic tensor that is used as a value.

    The error is a NotImplementedError, as in TensorFlow, and also a TypeError, the usual error for
    a value of a wrong type.
    """


class Tensor:
    """One output of an `Operation`. A tensor holds no values: `eval` or `Session.run` compute
    them.
    """

    __slots__ = (
        "__dict__",  # programs add their own attributes to tensors
        "__weakref__",
        "_dtype",
        "_shape",
        "_users",
        "op",
        "value_index",
    )

    OVERLOADABLE_OPERATORS: ClassVar[set[str]]
    """The names of the operators that programs may replace."""

    __array_priority__ = 100  # makes NumPy defer `array + tensor` to the tensor

    def __init__(self, op: Operation, value_index: int, dtype: DType) -> None:
        self.op = op
        self.value_index = value_index
        self._dtype = dtype
        self._shape = UNKNOWN_SHAPE
        self._users: list[Operation] | None = None  # filled in by the graph, on first access

    @property
    def name(self) -> str:
        """`"op_name:index"`."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def graph(self) -> Graph:
        """The graph of the operation that outputs this tensor."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The requested device, or the empty string."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape: the part that is known before a run."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the static shape, which is also the property `shape`."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape.

        Raises ValueError if `shape` contradicts the known shape or is too large.
        """
        refinement = as_tensor_shape(shape)
        try:
            self._shape = self._shape.merge_with(refinement)
        except ValueError as error:
            raise ValueError(misfit_of(error).in_graph) from None

    def consumers(self) -> list[Operation]:
        """Return the operations that consume this tensor. An operation occurs once for each of its
        inputs that is this tensor.
        """
        return list(self._consumers)

    @property
    def _consumers(self) -> Sequence[Operation]:
        """The list that `consumers` copies. Callers must not change the list."""
        self.op.graph._note_consumers()
        return self._users or ()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the tensor's value, computed in `session` or the default session. Raises
        ValueError if there is no session.
        """
        return session_for(self.graph, session, "evaluate tensor using `eval()`").run(
            self, feed_dict
        )

    def experimental_ref(self) -> Reference:
        """Return a hashable wrapper that compares by identity. Its method `deref()` returns the
        tensor.
        """
        return Reference(self)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self._dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self._shape.sizes is None else f", shape={self._shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    __hash__ = object.__hash__

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, _: Any) -> Tensor:
        return self

    def __bool__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(
            f"{not_allowed('using a `tf.Tensor` as a Python `bool`')} The tensor is '{self.name}', "
            f"made at {self.op.origin}. Compare with None, or use tf.cond, tf.logical_and, "
            "tf.logical_or, tf.logical_not."
        )

    def __iter__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(
            f"{not_allowed('iterating over `tf.Tensor`')} The tensor is '{self.name}', made at "
            f"{self.op.origin}. Use tf.unstack or tf.map_fn."
        )

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len() of the tf.Tensor '{self.name}' is not known while the graph is built. Use "
            "tf.shape or tensor.shape[0]."
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise _SymbolicTensorError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array. It was made at "
            f"{self.op.origin} and holds no values: fetch it with Session.run."
        )

    def __add__(self, other: Any) -> Any:
        return OPERATORS["__add__"](self, other)

    def __radd__(self, other: Any) -> Any:
        return OPERATORS["__radd__"](self, other)

    def __sub__(self, other: Any) -> Any:
        return OPERATORS["__sub__"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return OPERATORS["__rsub__"](self, other)

    def __mul__(self, other: Any) -> Any:
        return OPERATORS["__mul__"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return OPERATORS["__rmul__"](self, other)

    def __truediv__(self, other: Any) -> Any:
        return OPERATORS["__truediv__"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return OPERATORS["__rtruediv__"](self, other)

    def __floordiv__(self, other: Any) -> Any:
        return OPERATORS["__floordiv__"](self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return OPERATORS["__rfloordiv__"](self, other)

    def __mod__(self, other: Any) -> Any:
        return OPERATORS["__mod__"](self, other)

    def __rmod__(self, other: Any) -> Any:
        return OPERATORS["__rmod__"](self, other)

    def __pow__(self, other: Any) -> Any:
        return OPERATORS["__pow__"](self, other)

    def __rpow__(self, other: Any) -> Any:
        return OPERATORS["__rpow__"](self, other)

    def __matmul__(self, other: Any) -> Any:
        return OPERATORS["__matmul__"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return OPERATORS["__rmatmul__"](self, other)

    def __and__(self, other: Any) -> Any:
        return OPERATORS["__and__"](self, other)

    def __rand__(self, other: Any) -> Any:
        return OPERATORS["__rand__"](self, other)

    def __or__(self, other: Any) -> Any:
        return OPERATORS["__or__"](self, other)

    def __ror__(self, other: Any) -> Any:
        return OPERATORS["__ror__"](self, other)

    def __xor__(self, other: Any) -> Any:
        return OPERATORS["__xor__"](self, other)

    def __rxor__(self, other: Any) -> Any:
        return OPERATORS["__rxor__"](self, other)

    def __neg__(self) -> Any:
        return OPERATORS["__neg__"](self)

    def __invert__(self) -> Any:
        return OPERATORS["__invert__"](self)

    def __abs__(self) -> Any:
        return OPERATORS["__abs__"](self)

    def __lt__(self, other: Any) -> Any:
        return OPERATORS["__lt__"](self, other)

    def __le__(self, other: Any) -> Any:
        return OPERATORS["__le__"](self, other)

    def __gt__(self, other: Any) -> Any:
        return OPERATORS["__gt__"](self, other)

    def __ge__(self, other: Any) -> Any:
        return OPERATORS["__ge__"](self, other)

    def __getitem__(self, key: Any) -> Any:
        return OPERATORS["__getitem__"](self, key)


UNKNOWN_SHAPE = TensorShape.of(None)

_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"
)  # fmt: skip
_OTHERS = ("neg", "invert", "abs", "lt", "le", "gt", "ge", "getitem")

OPERATOR_NAMES: tuple[str, ...] = (
    *(f"__{side}{name}__" for name in _BINARY for side in ("", "r")),
    *(f"__{name}__" for name in _OTHERS),
)
"""The Python operators that tensors and variables overload."""

Tensor.OVERLOADABLE_OPERATORS = {*OPERATOR_NAMES, "__div__", "__rdiv__", "__eq__", "__ne__"}

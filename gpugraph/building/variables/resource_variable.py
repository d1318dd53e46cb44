"""Resource variables: variables behind a handle, through which ops read and change them.

A reference variable has one read op that all its users share. For a resource variable, each user
has a separate read op, which runs after the control dependencies of that user. If the user is in a
loop, the read op runs in each iteration. Methods that change the variable return an
`UnreadVariable`, whose reads wait for the change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.building.variables.variable import KINDS, Variable
from gpugraph.graph.client.default_stacks import traced_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state.change_by_handle import change


class ResourceVariable(Variable):
    """A variable that ops access through a handle. For the arguments, see `Variable`.

    Attributes:
      handle: a scalar of dtype resource, which represents the variable in the graph.
    """

    _initializer_scope = True
    _needs_shape = False
    _cached: Tensor | None = None

    def _hold(self, shape: TensorShape, scope: str) -> Tensor:
        self._dtype = self._initial_value.dtype.base_dtype
        self._shape = shape
        name = scope[:-1]
        if not self._validate_shape and shape.rank is not None:  # assignments may change the sizes
            shape = TensorShape.of((None,) * shape.rank)
        return raw_ops.VarHandleOp(dtype=self._dtype, shape=shape, shared_name=name, name=scope)

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        super()._init_from_proto(message, import_scope)
        attrs = self._variable.op.attrs
        self._dtype, self._shape = attrs["dtype"], attrs["shape"]
        if self._snapshot.op.type != "ReadVariableOp":
            self._cached = self._snapshot

    def _safe_initial_value(self) -> Tensor:
        return self._initial_value

    def _initialize(self) -> Operation:
        with self._graph.name_scope("IsInitialized"):
            self._is_initialized_op: Tensor = raw_ops.VarIsInitializedOp(self._variable)
        with self._beside():
            assignment: Operation = raw_ops.AssignVariableOp(
                self._variable, self._guarded_initial_value, name="Assign"
            )
        return assignment

    def _read(self) -> Tensor:
        """Create the read op that fetches use. With a caching device, all users share its
        result.
        """
        with self._graph.name_scope("Read"):
            with self._beside():
                value = self._read_here()
            if self._caching_device is None:
                return value
            with (
                self._graph.colocate_with(None, ignore_existing=True),
                self._graph.device(self._caching_device),
            ):
                self._cached = identity(value)
            return self._cached

    def _read_here(self) -> Tensor:
        """Return a new read op, which runs after the current control dependencies."""
        value: Tensor = raw_ops.ReadVariableOp(self._variable, dtype=self._dtype)
        value.set_shape(self._shape)
        return value

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """Inside a `with` block, place ops on the variable's device, regardless of the current
        device and colocation scopes.
        """
        graph = self._graph
        with (
            graph.colocate_with(None, ignore_existing=True),
            graph.device(self._variable.op.device or None),
        ):
            yield

    def _after(self) -> AbstractContextManager[Any]:
        """Return a context manager in which reads and changes of the variable are created. In this
        class, the context manager adds no dependencies.

        For an `UnreadVariable`, the context manager adds a dependency on the op that changed the
        variable.
        """
        return nullcontext()

    def _as_graph_element(self) -> Tensor:
        return self._snapshot

    def _component(self) -> ResourceVariable:
        """Return the variable itself. In a subclass with several copies, return the copy of the
        current replica.
        """
        return self

    @property
    def handle(self) -> Tensor:
        """The resource tensor that represents the variable."""
        return self._variable

    def value(self) -> Tensor:
        """Return a new read op under the current control dependencies or, with a caching device,
        the shared read.
        """
        if self._cached is not None:
            return self._cached
        with self._beside(), self._after():
            return self._read_here()

    def read_value(self) -> Tensor:
        """Return a new read op, which runs after the current control dependencies."""
        with self._after():
            with self._graph.name_scope("Read"):
                value = self._read_here()
            return identity(value)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the rows at `indices`, as `tf.gather` does."""
        with self._after():
            rows: Tensor = raw_ops.ResourceGather(
                self._variable, indices, dtype=self._dtype, name=name or "Gather"
            )
        return identity(rows)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the slices at `indices`, as `tf.gather_nd` does."""
        with self._after():
            slices: Tensor = raw_ops.ResourceGatherNd(
                self._variable, indices, dtype=self._dtype, name=name or "GatherNd"
            )
        return identity(slices)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return a bool scalar: whether the variable has a value in the session."""
        return raw_ops.VarIsInitializedOp(self._variable, name=name)

    def _is_initialized(self) -> Tensor:
        return self.is_initialized()

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape of the value."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the static shape of the value, which is also the property `shape`."""
        return self._shape

    @property
    def create(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape. Raises ValueError if `shape` contradicts the known shape."""
        self._shape = self._shape.merge_with(shape)
        self._snapshot.set_shape(shape)

    # -- changes

    def _changed_by(self, op_type: str, value: Any, read_value: bool, **attrs: Any) -> Any:
        with traced_graph(self._graph).as_default(), self._after():
            tensor = convert_to_tensor(value, self._dtype)
            if op_type == "Assign" and not self._shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"Shapes {self._shape} and {tensor.shape} are incompatible: the variable's, "
                    f"'{self.name}' (made at {self._variable.op.origin}), and the assigned value's"
                )
            operation = change(op_type, self._variable, tensor, **attrs)
        return self._after_change(operation) if read_value else operation

    def _after_change(self, op: Operation) -> UnreadVariable:
        """Return an object that represents the variable after `op` has changed it. Its reads wait
        for `op`.
        """
        return UnreadVariable(self, op)


class UnreadVariable(ResourceVariable):
    """A resource variable after `op` has changed it. Reads of this object wait for `op`."""

    def __init__(self, variable: ResourceVariable, op: Operation) -> None:
        vars(self).update(vars(variable._component()))
        vars(self).pop("_distributed_container", None)
        self._changed = op
        self._cached = None
        with self._after():
            self._snapshot = self._read_here()

    def _after(self) -> AbstractContextManager[Any]:
        return self._changed.graph.control_dependencies([self._changed])

    @property
    def op(self) -> Operation:
        """The operation that changes the variable."""
        return self._changed

    @property
    def name(self) -> str:
        """The name of the operation that changes the variable."""
        return self._changed.name

    @property
    def _shared_name(self) -> str:
        return self._variable.op.name


KINDS[True] = ResourceVariable

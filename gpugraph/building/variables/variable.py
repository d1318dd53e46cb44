"""Variables: tensors that keep their value between runs.

`Variable` is TensorFlow 1's reference variable: a VariableV2 op, an Assign that initializes it, and
an Identity `read` through which all users read it. After its initializer has run, a session keeps
its value. `resource_variable.ResourceVariable` is the other kind of variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NoReturn

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.control_flow import cond
from gpugraph.building.variables import replication_modes as modes
from gpugraph.building.variables.change_methods import (
    by_coordinates,
    by_difference,
    by_rows,
    count_up_to,
)
from gpugraph.building.variables.initial_value_checks import check_outside, check_shape
from gpugraph.building.variables.reference_or_resource import uses_resource
from gpugraph.building.variables.save_slice_info import SaveSliceInfo as _SaveSliceInfo
from gpugraph.building.variables.variable_creators import CreatedByScopes
from gpugraph.building.variables.variable_protos import VariableInProto, register_variable_protos
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.default_stacks import session_for
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.identity_reference import Reference
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import OPERATOR_NAMES, Tensor
from gpugraph.graph.op_library import OPERATORS
from gpugraph.ops.framework import tensor_conversion
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.state.assign_to_slice import sliced_variable
from gpugraph.ops.state.change_by_handle import change
from gpugraph.ops.state.reference_variable_ops import initialized_value, with_initialized_reads

VARIABLE_LISTENERS: list[Callable[[Variable], None]] = []
"""Functions that are called with each new variable, for tools that observe a program."""


class Variable(VariableInProto, metaclass=CreatedByScopes):
    """A value that a session keeps. It can be used wherever a tensor can. `v[1:3].assign(x)`
    changes a slice of the variable.

    Args:
      initial_value: a value convertible to a tensor, or a callable without arguments that returns
        one. The callable is called outside of the current control dependencies. The static shape
        must be fully defined unless `validate_shape` is False.
      trainable: whether optimizers change the variable by default (collection TRAINABLE_VARIABLES).
      collections: the graph collections to which the variable is added, [GLOBAL_VARIABLES] by
        default.
      constraint: a function that optimizers apply to the variable's value after each update.
      use_resource: whether the variable is a resource variable, `ResourceVariable`. By default the
        variable scope decides, or else `tf.resource_variables_enabled()`.

    >>> v = tf.Variable(1.0, name="v")
    >>> session.run(v.initializer)
    >>> session.run(v.assign_add(2.0))
    np.float32(3.0)
    """

    _initializer_scope = False
    """Whether an initial value that is not callable is also converted in scope `Initializer`."""

    _needs_shape = True
    """Whether the shape must be fully defined unless `validate_shape` is False."""

    SaveSliceInfo = _SaveSliceInfo

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = modes.VariableSynchronization.AUTO,
        aggregation: Any = modes.VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        if isinstance(collections, str) or not isinstance(collections, (Iterable, type(None))):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. Got "
                f"{collections!r} of type {type(collections)}"
            )
        del expected_shape, use_resource  # `use_resource` has already determined the class
        self._synchronization, self._aggregation = modes.checked_modes(
            synchronization, aggregation, name
        )
        self._trainable = trainable = modes.trains(trainable, self._synchronization)
        self._constraint = constraint
        self._graph = get_default_graph()
        self._validate_shape = validate_shape
        self._caching_device = caching_device
        keys = list(collections) if collections is not None else [GraphKeys.GLOBAL_VARIABLES]
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        with self._graph.as_default(), self._graph.control_dependencies(None):
            self._build(initial_value, name or "Variable", dtype, shape)
        self._graph.add_to_collections(keys, self)
        for listen in VARIABLE_LISTENERS:
            listen(self)

    @classmethod
    def _kind(cls, use_resource: bool | None) -> type[Variable]:
        """Return the class for a variable created with `use_resource`."""
        return KINDS[uses_resource(use_resource)]

    def _build(self, initial_value: Any, name: str, dtype: Any, shape: Any) -> None:
        graph = self._graph
        wanted = None if dtype is None else as_dtype(dtype)
        with graph.name_scope(name) as scope:
            first_version = graph.version
            inner = ""
            if callable(initial_value) or self._initializer_scope:
                with graph.name_scope("Initializer") as inner, graph.device(None):
                    initial = initial_value() if callable(initial_value) else initial_value
                    value = convert_to_tensor(initial, wanted, name="initial_value")
            else:
                value = convert_to_tensor(initial_value, wanted, name="initial_value")
            if not callable(initial_value):
                check_outside(value, scope[:-1])
            self._initial_value = value
            known = self._initial_value.shape if shape is None else as_shape(shape)
            may_be_open = not (self._needs_shape and self._validate_shape)
            check_shape(value, known, may_be_open, scope[:-1])
            self._variable = self._hold(known, scope)
            if inner:
                self._take_along(graph._ops[first_version:], inner)
                self._variable.op._attrs["_class"] = self._variable.op.colocation_groups()
            self._guarded_initial_value = self._safe_initial_value()
            self._initializer: Operation = self._initialize()
            self._snapshot = self._read()

    def _hold(self, shape: TensorShape, scope: str) -> Tensor:
        """Create the op that holds the value, with this static shape. Return its output."""
        return raw_ops.VariableV2(
            dtype=self._initial_value.dtype.base_dtype,
            shape=shape if self._validate_shape else TensorShape.of(None),
            name=scope,
        )

    def _initialize(self) -> Operation:
        assignment: Tensor = raw_ops.Assign(
            self._variable,
            self._guarded_initial_value,
            validate_shape=self._validate_shape,
            name="Assign",
        )
        return assignment.op

    def _take_along(self, ops: Sequence[Operation], scope: str) -> None:
        """Colocate the initializer's `ops`, which were created before the variable, with the
        variable.
        """
        groups = self._variable.op.colocation_groups()
        for op in ops:
            if op.name.startswith(scope) and "_class" not in op._attrs:
                op._attrs = {**op._attrs, "_class": groups}

    def _safe_initial_value(self) -> Tensor:
        """Return the initial value in a form that does not depend on other variables being
        initialized: each such variable that has no value yet is replaced by its own initial value.

        One run can then initialize all variables, in any order.
        """
        graph = self._graph

        def find(op: Operation) -> Tensor | None:
            for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
                for other in graph.get_collection(key):
                    if getattr(other, "op", None) is op:
                        return initialized_value(other._variable, other._guarded_initial_value)
            return None

        return with_initialized_reads(self._initial_value, find, self.op.name)

    def _read(self) -> Tensor:
        graph = self._graph
        if self._caching_device is None:
            place = graph.colocate_with(self._variable.op)
        else:
            place = graph.device(self._caching_device)
        with place:
            read: Tensor = raw_ops.Identity(self._variable, name="read")
        return read

    # -- as a tensor

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def _ref(self) -> Tensor:
        """Return the reference, for ops that change the variable."""
        return self._variable

    def value(self) -> Tensor:
        """Return the output of the read op that all users share."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Return a new read op, which runs after the current control dependencies."""
        return raw_ops.Identity(self._variable, name="read")

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the rows at `indices`, as `tf.gather` does."""
        return gather(self.value(), indices, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the slices at `indices`, as `tf.gather_nd` does."""
        return gather_nd(self.value(), indices, name=name)

    @property
    def initial_value(self) -> Tensor:
        """The tensor that initializes the variable."""
        return self._initial_value

    def initialized_value(self) -> Tensor:
        """Return the value or, if the variable has no value in the session, the initial value."""
        with self._graph.control_dependencies(None):
            return convert_to_tensor(
                cond(self._is_initialized(), self.read_value, lambda: self._guarded_initial_value)
            )

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    @property
    def name(self) -> str:
        """The name of the reference tensor, such as `"w:0"`."""
        return self._variable.name

    @property
    def op(self) -> Operation:
        """The operation that holds the variable."""
        return self._variable.op

    @property
    def dtype(self) -> DType:
        """The dtype of the reference tensor, such as `float32_ref`."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._variable.shape

    def get_shape(self) -> TensorShape:
        """Return the static shape, which is also the property `shape`."""
        return self._variable.shape

    @property
    def device(self) -> str:
        """The requested device of the variable, or the empty string."""
        return self._variable.device

    @property
    def graph(self) -> Graph:
        """The graph of the variable."""
        return self._graph

    @property
    def _shared_name(self) -> str:
        return self.op.name

    # -- changes

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assign `value` in a run. Return the reference. If `read_value` is False, return the
        operation.
        """
        return self._changed_by(
            "Assign",
            value,
            read_value,
            validate_shape=self._validate_shape,
            use_locking=use_locking,
            name=name,
        )

    assign_add = by_difference(
        "assign_add",
        "AssignAdd",
        "Add `delta`; return the reference, or the operation without `read_value`.",
    )
    assign_sub = by_difference(
        "assign_sub",
        "AssignSub",
        "Subtract `delta`; return the reference, or the operation without `read_value`.",
    )

    def _changed_by(self, op_type: str, value: Any, read_value: bool, **attrs: Any) -> Any:
        operation = change(op_type, self._variable, value, **attrs)
        return operation if read_value else operation.op

    def _is_initialized(self) -> Tensor:
        return raw_ops.IsVariableInitialized(self._variable)

    count_up_to = count_up_to
    scatter_update = by_rows("scatter_update", "Write the rows of IndexedSlices")
    scatter_add = by_rows("scatter_add", "Add IndexedSlices")
    scatter_sub = by_rows("scatter_sub", "Subtract IndexedSlices")
    scatter_mul = by_rows("scatter_mul", "Multiply rows by those of IndexedSlices")
    scatter_div = by_rows("scatter_div", "Divide rows by those of IndexedSlices")
    scatter_min = by_rows("scatter_min", "Take the minimum of rows and IndexedSlices")
    scatter_max = by_rows("scatter_max", "Take the maximum of rows and IndexedSlices")
    batch_scatter_update = by_rows("batch_scatter_update", "Write rows, batch entry by batch entry")
    scatter_nd_update = by_coordinates("scatter_nd_update", "Do as `tf.scatter_nd_update`.")
    scatter_nd_add = by_coordinates("scatter_nd_add", "Do as `tf.scatter_nd_add`.")
    scatter_nd_sub = by_coordinates("scatter_nd_sub", "Do as `tf.scatter_nd_sub`.")

    def load(self, value: Any, session: Any = None) -> None:
        """Assign a value immediately, in `session` or in the default session."""
        chosen = session if session is not None else session_for(self._graph, None, "load a value")
        chosen.run(self._initializer, {self._initializer.inputs[1]: value})

    def eval(self, session: Any = None) -> Any:
        """Return the value in `session`, or in the default session."""
        return self._as_graph_element().eval(session=session)

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape. Raises ValueError if `shape` contradicts the known shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    def experimental_ref(self) -> Reference:
        """Return a hashable object that compares by identity. Its method `deref()` returns the
        variable.
        """
        return Reference(self)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise NotImplementedError(
            "__deepcopy__() is only available when eager execution is enabled: a graph has one "
            f"'{self.name}'"
        )

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


KINDS: dict[bool, type[Variable]] = {False: Variable}
"""By whether a variable is a resource variable, its class."""

Variable.__array_priority__ = 100  # type: ignore[attr-defined]


def _operator(name: str) -> Any:
    @wraps(getattr(Tensor, name))
    def operate(self: Variable, *others: Any) -> Any:
        return OPERATORS[name](self.value(), *others)

    return operate


for _name in OPERATOR_NAMES:
    setattr(Variable, _name, sliced_variable if _name == "__getitem__" else _operator(_name))


def _as_tensor(
    value: Variable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    del name
    if dtype is not None and not dtype.base_dtype.is_compatible_with(value.dtype.base_dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable "
            f"'{value.name}' of type '{value.dtype.base_dtype.name}'"
        )
    return value._ref() if as_ref else value.value()


tensor_conversion.register_tensor_conversion_function(Variable, _as_tensor, 20)
register_variable_protos(Variable.from_proto)

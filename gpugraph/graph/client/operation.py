"""Operation: one node of the client graph, and the user's line that created it.

A graph creates its operations. Operations do not change afterwards, except by `_update_input` and
`_add_control_inputs`, which `while_loop` needs to close loops. (A caller may also create a cycle
with these methods by mistake.) A program may create a hundred thousand operations. Fields that
usually have the same value are therefore class attributes, and other values are computed on access
if possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import OpError
from gpugraph.formats.attr_value_messages import plain_attr
from gpugraph.graph.client.creation_origin import Origin
from gpugraph.graph.client.default_stacks import session_for
from gpugraph.graph.client.node_messages import node_def_of, op_def_message, public_attr
from gpugraph.graph.client.tensor import UNKNOWN_SHAPE, Tensor
from gpugraph.graph.op_def import NodeDef, OpDef
from gpugraph.graph.op_library import make_of_node_def

if TYPE_CHECKING:
    from gpugraph.graph.client.client_graph import Graph


_new_tensor: Callable[[type[Tensor]], Tensor] = object.__new__


class Operation:
    """A node: op type, input tensors, control inputs, attrs, requested device, outputs."""

    _original_op: Operation | None = None
    _refusal: OpError | None = None  # the error that a run raises if it needs this operation
    _call: Any = None  # for an inlined function call, its `InlinedCall`

    _scope_places: Any  # the ScopePlaces; not set for operations created outside of such scopes

    __slots__ = (
        "__dict__",  # programs add their own attributes to operations
        "__weakref__",
        "_attrs",
        "_control_flow_context",
        "_control_inputs",
        "_device",
        "_id",
        "_inputs",
        "_op_def",
        "_outputs",
        "_scope_places",
        "graph",
        "name",
        "origin",
    )

    def __init__(
        self,
        node_def: Any,
        g: Graph,
        inputs: Any = None,
        output_types: Any = None,
        control_inputs: Any = None,
        input_types: Any = None,
        original_op: Operation | None = None,
        op_def: Any = None,
    ) -> None:
        """Add the operation that a NodeDef message describes to a graph.

        The operation has the name, op type, device and attrs of the message. The graph's active
        scopes (names, devices and so on) don't apply.

        Args:
          node_def: the message. Its `input` is ignored.
          g: the graph.
          inputs: the input tensors, with lists flattened.
          output_types: ignored, as in TensorFlow. The attrs determine the dtypes.
          control_inputs: operations, or tensors of these operations.
          input_types: the dtypes of the inputs. An input type may be a reference dtype although the
            tensor's dtype is not, or the reverse.
          original_op: the operation for which this operation was created, for example the operation
            whose gradient it computes. The attribute `_original_op` contains this operation.
          op_def: ignored. The op type must be declared.

        Raises:
          TypeError: an argument is not a NodeDef, graph, list of tensors or operation, or
            `input_types` does not describe the inputs.
          ValueError: the name is invalid or in use, the op type does not have these attrs and
            inputs, or a tensor belongs to another graph.
          NotFoundError: the op type is not declared.
        """
        del output_types, op_def
        make_of_node_def(self, node_def, g, inputs, control_inputs, input_types)
        if original_op is not None:
            self._original_op = original_op

    @classmethod
    def _of(
        cls,
        graph: Graph,
        name: str,
        op_def: OpDef,
        inputs: tuple[Tensor, ...],
        output_types: Sequence[DType],
        attrs: dict[str, Any],
        origin: Origin,
    ) -> Operation:
        """Create an operation without adding it to its graph."""
        op = cls.__new__(cls)
        op._set(graph, name, op_def, inputs, output_types, attrs, origin)
        return op

    def _set(
        self,
        graph: Graph,
        name: str,
        op_def: OpDef,
        inputs: tuple[Tensor, ...],
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
        self._control_inputs: tuple[Operation, ...] = ()
        self._control_flow_context: Any = None
        self._device = ""
        self._id = -1
        if len(output_types) == 1:
            tensor = _new_tensor(Tensor)  # an inlined copy of Tensor's constructor
            tensor.op, tensor.value_index, tensor._dtype = self, 0, output_types[0]
            tensor._shape, tensor._users = UNKNOWN_SHAPE, None
            self._outputs: tuple[Tensor, ...] = (tensor,)
        else:
            self._outputs = tuple(
                [Tensor(self, index, dtype) for index, dtype in enumerate(output_types)]
            )

    @property
    def type(self) -> str:
        """The op type, such as `"MatMul"`."""
        return self._op_def.name

    @property
    def op_def(self) -> Any:
        """The signature of the op as an OpDef message."""
        return op_def_message(self._op_def)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors, in order."""
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The output tensors, in order."""
        return list(self._outputs)

    def values(self) -> tuple[Tensor, ...]:
        """Return the output tensors, in order."""
        return self._outputs

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that must run before this one, in addition to the producers of its
        inputs.
        """
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The requested device, or the empty string."""
        return self._device

    def _set_device(self, device: str) -> None:
        self._device = device

    @property
    def attrs(self) -> dict[str, Any]:
        """The attrs, by name. Callers must not change the dict, because operations may share it."""
        return self._attrs

    def get_attr(self, name: str) -> Any:
        """Return the value of an attr in TensorFlow's types: strings as bytes, dtypes as `DType`.

        A shape is returned as a TensorShapeProto, the value of a constant as a TensorProto, and a
        list as a list of values of these types. Raises ValueError if the operation has no attr
        `name`.
        """
        if name not in self._attrs:
            raise ValueError(
                f"Operation '{self.name}' has no attr named '{name}'. The {self.type} has "
                f"{sorted(self._attrs)}"
            )
        return public_attr(self, name)

    def _set_attr(self, attr_name: str, attr_value: Any) -> None:
        """Set an attr, from an AttrValue message or a plain value.

        Programs set the attr `_swap_to_host` with this method.
        """
        self._attrs = {**self._attrs, attr_name: plain_attr(attr_value)}

    @property
    def node_def(self) -> Any:
        """This operation as a NodeDef message."""
        return node_def_of(self)

    @property
    def _record(self) -> NodeDef:
        """This operation as a plain `NodeDef` record, for error messages."""
        inputs = [
            tensor.op.name if tensor.value_index == 0 else tensor.name for tensor in self._inputs
        ]
        inputs += [f"^{op.name}" for op in self._control_inputs]
        return NodeDef(self.name, self.type, inputs, self._device, dict(self._attrs))

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """Up to three frames of user code that created the operation, innermost first.

        Each is (file, line, function, source text).
        """
        return self.origin.frames

    @property
    def traceback_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        """The tuples of `traceback`, with the first line of the function appended to each tuple."""
        return self.origin.frames_with_start_lines

    def colocation_groups(self) -> list[bytes]:
        """Return the names `loc:@op` of the colocation groups. If the operation is in no colocation
        group, return a group named after this operation.
        """
        names = self._attrs.get("_class", ())
        groups = [name for name in names if name.startswith(b"loc:@")]
        return groups or [f"loc:@{self.name}".encode()]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in `session` or in the default session. Raises ValueError if there is
        no session.
        """
        session_for(self.graph, session, "execute operation using `run()`").run(self, feed_dict)

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replace the input at `index` by `tensor`.

        The replacement may create a cycle. A session rejects graphs with cycles.

        Raises TypeError unless `tensor` is a tensor of the same dtype, ValueError if `tensor`
        belongs to another graph, and IndexError if there is no input `index`.
        """
        graph = self.graph
        graph._check_not_finalized()
        if not isinstance(tensor, Tensor):
            raise TypeError(f"tensor must be a Tensor: {tensor!r}")
        if tensor.graph is not graph:
            raise ValueError(f"{tensor!r} must be from the same graph as {self!r}.")
        if not 0 <= index < len(self._inputs):
            raise IndexError(f"{self!r} has {len(self._inputs)} inputs, and none at {index}")
        old = self._inputs[index]
        if tensor.dtype.base_dtype is not old.dtype.base_dtype:
            raise TypeError(
                f"Input {index} of '{self.name}' is {old.dtype.name}; it can't become "
                f"{tensor.name}, which is {tensor.dtype.name}"
            )
        graph._replace_input(self, index, tensor)

    def _add_control_inputs(self, ops: Sequence[Operation]) -> None:
        """Add the operations `ops` as control inputs. Operations that are control inputs already
        are skipped.

        Raises TypeError for anything but an operation, and ValueError for an operation of another
        graph.
        """
        self.graph._check_not_finalized()
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"op must be an Operation: {op!r}")
            if op.graph is not self.graph:
                raise ValueError(f"{op!r} must be from the same graph as {self!r}.")
        known = len(self._control_inputs)
        self._control_inputs = tuple(dict.fromkeys([*self._control_inputs, *ops]))
        if len(self._control_inputs) > known:
            self.graph._changed.append(self)

    def _remove_control_inputs(self, ops: Sequence[Operation]) -> None:
        """Remove the control inputs in `ops`, if they are present."""
        remaining = tuple([op for op in self._control_inputs if op not in ops])
        if len(remaining) < len(self._control_inputs):
            self._control_inputs = remaining
            self.graph._changed.append(self)

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)

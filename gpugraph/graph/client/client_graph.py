"""Graph: the client's graph of named operations.

A graph only grows. Names are unique (case-insensitively, as in TensorFlow), operations keep
their order of creation, and creating one takes the same time in a large graph as in a small one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.version import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER
from gpugraph.graph.attr_values import complete_attrs
from gpugraph.graph.client.creation_origin import Origin, here
from gpugraph.graph.client.default_stacks import graph_stack
from gpugraph.graph.client.graph_collections import Collections
from gpugraph.graph.client.graph_html import OpRow, graph_html
from gpugraph.graph.client.graph_scopes import Scopes, name_in_use
from gpugraph.graph.client.node_messages import graph_def_of, version_message
from gpugraph.graph.client.op_inference import infer_by_rule, infer_shapes, output_types
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scope_state import ScopeState
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import ShapeRule
from gpugraph.graph.op_def import OpDef, VersionDef
from gpugraph.graph.op_library import OP_DEFS

_VERSIONS = VersionDef(GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER)
"""The versions that TensorFlow 1.15 writes into a GraphDef."""


class Graph(Scopes, Collections):
    """A static graph: its operations, names, scopes and collections.

    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     c = tf.constant(1, name="c")
    >>> [op.name for op in graph.get_operations()]
    ['c']
    """

    def __init__(self) -> None:
        Collections.__init__(self)
        Scopes.__init__(self)
        self._origins: dict[tuple[int, ...], Origin] = {}
        self._changed: list[Operation] = []  # operations whose inputs were changed later
        self._noted = 0  # the number of ops that are recorded as consumers of their inputs
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._barred = 0  # the number of restrictions; if it grows, sessions check fetches again
        self._functions: dict[str, Any] = {}
        self._seed: int | None = None
        self._versions = _VERSIONS
        self._value_counts: dict[Operation, int] = {}  # by constant: values in its NodeDef

    def as_default(self) -> AbstractContextManager[Graph]:
        """Make this graph the default graph of the thread inside a `with` block."""
        return graph_stack.using(self)

    # -- growth

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[DType] | None = None,
        input_types: Sequence[DType] | None = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: OpDef | None = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Create an operation of a declared op type (or of `op_def`) with exactly these inputs.

        `dtypes` are the dtypes of the outputs. If `dtypes` is None, the signature and the attrs
        determine the dtypes. Attrs that the dtypes of the inputs determine may be omitted. Raises
        TypeError for an input that is not a tensor. Raises ValueError for an unknown op type,
        inputs or attrs that the signature does not allow, a tensor of another graph, an invalid
        name, or shapes that the op rejects.
        """
        del input_types, compute_device
        op_def = op_def or OP_DEFS.get(op_type)
        if op_def is None:
            raise ValueError(f"No op type '{op_type}' is registered. Declare it by register_op.")
        for tensor in inputs:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"Input of '{name or op_type}' is not a tensor: {tensor!r}")
        values = complete_attrs(op_def, [tensor._dtype for tensor in inputs], attrs or {})
        if dtypes is None:
            dtypes = output_types(op_def, values)
        return self._make(op_def, inputs, dtypes, values, name, compute_shapes)

    def _make(
        self,
        op_def: OpDef,
        inputs: Sequence[Tensor],
        dtypes: Sequence[DType],
        attrs: dict[str, Any],
        name: str | None,
        compute_shapes: bool = True,
    ) -> Operation:
        """Create an operation and add it to the graph. If an error occurs, the graph stays
        unchanged.
        """
        if self._finalized:
            self._check_not_finalized()
        if op_def.deprecation is not None:
            op_def.check_available(self._versions.producer)
        in_context = False
        for tensor in inputs:
            maker = tensor.op
            if maker._control_flow_context is not None:
                in_context = True
            if maker.graph is not self:
                return self._make(
                    op_def, self._captured_inputs(inputs, name or op_def.name, op_def), dtypes,
                    attrs, name, compute_shapes,
                )  # fmt: skip
        state = self._threads.state
        name = self._op_name(name or op_def.name, state.name)
        op = Operation._of(self, name, op_def, tuple(inputs), dtypes, attrs, here(self._origins))
        if in_context:
            self._check_contexts(op, state)
        infer = op_def.infer
        by_rule = compute_shapes and type(infer) is ShapeRule and infer_by_rule(op, infer)
        if compute_shapes and not by_rule and infer is not None:
            infer_shapes(op)
        self._enter_scopes(op, state)
        self._add(op, state)
        return op

    def _captured_inputs(
        self, inputs: Sequence[Tensor], name: str, op_def: OpDef
    ) -> Sequence[Tensor]:
        """Return this graph's tensors for the inputs of a new op. A function's graph overrides this
        method to capture tensors of outer graphs.

        Raises ValueError for a tensor of another graph, since only a function's graph can capture
        tensors.
        """
        raise next(self._foreign(t, name, op_def) for t in inputs if t.op.graph is not self)

    def _foreign(self, tensor: Tensor, name: str, op_def: OpDef) -> ValueError:
        """Return the error for a new op `name` with an input `tensor` of another graph."""
        return ValueError(
            f"{tensor!r} must be from the same graph as the operation '{name.rstrip('/')}' "
            f"(op: '{op_def.name}') that takes it at {here(self._origins)}; it was made at "
            f"{tensor.op.origin}."
        )

    def _add(self, op: Operation, state: ScopeState) -> None:
        """Append a fully constructed operation. Raises ValueError if its name is in use."""
        with self._lock:
            if self._by_name.setdefault(op.name, op) is not op:
                raise name_in_use(op.name)
            op._id = len(self._ops)
            self._ops.append(op)
        for block in state.controls:
            block.seen.add(op)

    def _check_contexts(self, op: Operation, state: ScopeState) -> None:
        """Raise ValueError if an input of `op` is inside a loop or branch that does not contain
        `op`.
        """
        user = state.control_flow
        for tensor in op._inputs:
            context = tensor.op._control_flow_context
            if context is not None and context is not user:
                context.check_use(tensor, op, user)

    def _note_consumers(self) -> None:
        """Record the operations created since the last call as consumers of their inputs."""
        if self._noted == len(self._ops):
            return
        with self._lock:
            for op in self._ops[self._noted :]:
                for tensor in op._inputs:
                    if tensor._users is None:
                        tensor._users = []
                    tensor._users.append(op)
                self._noted += 1

    def _replace_input(self, op: Operation, index: int, tensor: Tensor) -> None:
        """Make `tensor` the input of `op` at `index`, and `op` its consumer."""
        with self._lock:
            old = op._inputs[index]
            new = (*op._inputs[:index], tensor, *op._inputs[index + 1 :])
            if op._id < 0:  # still under construction; recorded later
                op._inputs = new
                return
            self._note_consumers()
            op._inputs = new
            old._users.remove(op)  # type: ignore[union-attr]
            tensor._users = [*(tensor._users or ()), op]
            self._changed.append(op)

    def _turn_into(
        self,
        op: Operation,
        op_def: OpDef,
        attrs: dict[str, Any],
        inputs: tuple[Tensor, ...],
        control_inputs: tuple[Operation, ...],
    ) -> None:
        """Change an operation's op type, attrs and inputs, but not its output dtypes."""
        with self._lock:
            self._note_consumers()
            for tensor in op._inputs:
                tensor._users.remove(op)  # type: ignore[union-attr]
            for tensor in inputs:
                tensor._users = [*(tensor._users or ()), op]
            op._op_def, op._attrs, op._inputs = op_def, attrs, inputs
            op._control_inputs = tuple(dict.fromkeys([*op._control_inputs, *control_inputs]))
            self._changed.append(op)

    def _drop_last(self, first: int) -> None:
        """Remove all operations from index `first` on. No operation before `first` may use the
        removed operations.
        """
        with self._lock:
            self._note_consumers()
            for op in self._ops[first:]:
                del self._by_name[op.name]
                for tensor in op._inputs:
                    tensor._users.remove(op)  # type: ignore[union-attr]
            del self._ops[first:]
            self._noted = len(self._ops)

    # -- queries

    @property
    def seed(self) -> int | None:
        """The graph's random seed, set by `tf.set_random_seed`."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def version(self) -> int:
        """The number of operations. Each new operation increases this number."""
        return len(self._ops)

    @property
    def graph_def_versions(self) -> Any:
        """The GraphDef versions of the graph, as a VersionDef message."""
        return version_message(self._versions)

    @property
    def building_function(self) -> bool:
        """Always False, because a program can't access the graph of a function."""
        return False

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.get_operations())

    def _repr_html_(self) -> str:
        """Return HTML with the graph's scopes and operations, for notebooks."""
        return graph_html([_html_row(op) for op in self._ops])

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Return the graph as a GraphDef message.

        Args:
          from_version: has no effect, as in TensorFlow 1.15.
          add_shapes: whether nodes get the static shapes of their outputs, as `_output_shapes`.

        Raises:
          ValueError: the message is larger than 2 GiB.
        """
        del from_version
        with self._lock:
            return graph_def_of(self._ops, self._versions, add_shapes, self._functions)

    # -- restrictions on feeds and fetches

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbid feeds of this tensor: a run that feeds it raises an error."""
        if tensor not in self._unfeedable:
            self._unfeedable.add(tensor)
            self._barred += 1

    def prevent_fetching(self, op: Operation) -> None:
        """Forbid fetches of this operation and its tensors: a run that fetches them raises an
        error.
        """
        self._unfetchable.add(op)
        self._barred += 1

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether a session may feed the tensor."""
        return tensor not in self._unfeedable

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Return whether a session may fetch this operation or tensor."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable


def _html_row(op: Operation) -> OpRow:
    outputs = ", ".join(f"{out.dtype.name} {out.shape}" for out in op.outputs)
    return op.name, op.type, op.device, outputs, ", ".join(tensor.name for tensor in op.inputs)

"""Graph: the client's graph of named operations.

A graph only grows. Names are unique (case-insensitively, as in TensorFlow), operations keep
their order of creation, and creating one takes the same time in a large graph as in a small one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.misfit import Misfit, is_refusal, misfit_of
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.base.version import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER
from gpugraph.graph.attr_values import complete_attrs
from gpugraph.graph.client.creation_origin import Origin, here
from gpugraph.graph.client.default_stacks import graph_stack
from gpugraph.graph.client.graph_collections import Collections
from gpugraph.graph.client.graph_html import OpRow, graph_html
from gpugraph.graph.client.graph_scopes import Scopes, name_in_use
from gpugraph.graph.client.node_messages import graph_def_of, version_message
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import HANDLE_MOVES, handle_maker
from gpugraph.graph.client.scope_state import ScopeState
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, ShapeRule
from gpugraph.graph.op_def import ArgDef, OpDef, VersionDef
from gpugraph.graph.op_library import OP_DEFS, constant_value

_VERSIONS = VersionDef(GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER)
"""The versions that TensorFlow 1.15 writes into its graphs."""

_MAX_OUTPUTS = 1 << 24
"""The maximum number of outputs of one operation."""


class Graph(Scopes, Collections):
    """A static graph: operations, names, scopes, collections."""

    def __init__(self) -> None:
        Collections.__init__(self)
        Scopes.__init__(self)
        self._origins: dict[tuple[int, ...], Origin] = {}
        self._changed: list[Operation] = []  # whose inputs were changed later
        self._noted = 0  # this many ops are recorded as consumers of their inputs
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._barred = 0  # grows with either set: sessions check fetches again
        self._functions: dict[str, Any] = {}
        self._seed: int | None = None
        self._versions = _VERSIONS
        self._value_counts: dict[Operation, int] = {}  # of a constant, in a GraphDef

    def as_default(self) -> AbstractContextManager[Graph]:
        """Make this the default graph of the thread inside a `with` block."""
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

        `dtypes` are those of the outputs; if None, the signature and the attrs determine them.
        Attrs that the dtypes of the inputs determine may be omitted. Raises TypeError for an input
        that is not a tensor; raise ValueError for an unknown op type, inputs or attrs that the
        signature does not allow, a tensor of another graph, an invalid name, and shapes that the op
        rejects.
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
        """Create an operation and add it to the graph; on an error the graph is unchanged."""
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
        by_rule = compute_shapes and type(infer) is ShapeRule and _infer_by_rule(op, infer)
        if compute_shapes and not by_rule and infer is not None:
            infer_shapes(op)
        self._enter_scopes(op, state)
        self._add(op, state)
        return op

    def _captured_inputs(
        self, inputs: Sequence[Tensor], name: str, op_def: OpDef
    ) -> Sequence[Tensor]:
        """Return this graph's tensors for inputs of a new op, some of which are of other graphs.

        ValueError: only the graph of a function has such tensors.
        """
        raise next(self._foreign(t, name, op_def) for t in inputs if t.op.graph is not self)

    def _foreign(self, tensor: Tensor, name: str, op_def: OpDef) -> ValueError:
        """Return the error for an input of the new op `name` that belongs to another graph."""
        return ValueError(
            f"{tensor!r} must be from the same graph as the operation '{name.rstrip('/')}' "
            f"(op: '{op_def.name}') that takes it at {here(self._origins)}; it was made at "
            f"{tensor.op.origin}."
        )

    def _add(self, op: Operation, state: ScopeState) -> None:
        """Append a complete operation; raise ValueError if its name is in use."""
        with self._lock:
            if self._by_name.setdefault(op.name, op) is not op:
                raise name_in_use(op.name)
            op._id = len(self._ops)
            self._ops.append(op)
        for block in state.controls:
            block.seen.add(op)

    def _check_contexts(self, op: Operation, state: ScopeState) -> None:
        """Raise ValueError if an input is inside a loop that does not contain the op."""
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
        """Change an operation's op type (to one with the same output dtypes), attrs and inputs."""
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
        """Remove all operations from index `first` on; none before it may consume them."""
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
        """The number of operations: it grows with each new one."""
        return len(self._ops)

    @property
    def graph_def_versions(self) -> Any:
        """The GraphDef versions (producer, consumers) of the graph, as a VersionDef message."""
        return version_message(self._versions)

    @property
    def building_function(self) -> bool:
        """False: this is not the graph of a function."""
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
        """Make it an error to feed this tensor."""
        if tensor not in self._unfeedable:
            self._unfeedable.add(tensor)
            self._barred += 1

    def prevent_fetching(self, op: Operation) -> None:
        """Make it an error to fetch this operation or its tensors."""
        self._unfetchable.add(op)
        self._barred += 1

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether a session may feed the tensor."""
        return tensor not in self._unfeedable

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Return whether a session may fetch the operation, or this output of it."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable


def output_types(op_def: OpDef, attrs: dict[str, Any]) -> list[DType]:
    """Return the dtypes of an op's outputs, from its signature and attrs."""
    return arg_types(op_def.outputs, attrs, op_def.name)


def arg_types(
    args: Sequence[ArgDef], attrs: Mapping[str, Any], op_type: str, limit: int = _MAX_OUTPUTS
) -> list[DType]:
    """Return the dtypes of an op's inputs or outputs, with lists flattened.

    limit: the maximum number of tensors in one argument; ValueError above it.
    """
    types: list[DType] = []
    for arg in args:
        if arg.type_list_attr:
            types += attrs[arg.type_list_attr]
            continue
        dtype: DType = arg.type if arg.type is not None else attrs[arg.type_attr]
        dtype = dtype._as_ref if arg.is_ref else dtype
        count = attrs[arg.number_attr] if arg.number_attr else 1
        if count > limit:
            raise ValueError(f"{count} outputs are too many for '{op_type}' Op")
        types += [dtype] * count
    return types


class _OpContext(InferContext):
    """Shapes, attrs and constant inputs of an operation under construction, for shape inference."""

    __slots__ = ("_inputs",)

    is_building = True

    def __init__(self, op: Operation) -> None:
        self._inputs = inputs = op._inputs
        self.shapes = [tensor._shape for tensor in inputs]
        self.attrs = op._attrs
        self.num_outputs = len(op._outputs)

    @property
    def dtypes(self) -> Sequence[DType]:
        return [tensor._dtype for tensor in self._inputs]

    def value(self, index: int) -> Any:
        return constant_value(self._inputs[index], as_shape=False)

    def partial(self, index: int) -> TensorShape | None:
        return constant_value(self._inputs[index], as_shape=True)

    def maker(self, index: int) -> tuple[str, Mapping[str, Any]]:
        source = self._inputs[index].op
        while source.type in HANDLE_MOVES:
            source = source._inputs[0].op
        return source.type, source._attrs

    def variable_shape(self, index: int) -> TensorShape:
        maker = handle_maker(self._inputs[index])
        return TensorShape.of(None) if maker is None else maker._attrs["shape"]

    def variable_dtype(self, index: int) -> DType | None:
        maker = handle_maker(self._inputs[index])
        return None if maker is None else maker._attrs["dtype"]


def _shapes_despite(misfit: Misfit, op: Operation) -> Sequence[TensorShape]:
    """Return the output shapes that `misfit` carries; raise `misfit` if it carries none.

    Shapes are present if TensorFlow detects the error only in a run. Outputs without one are
    unknown.
    """
    if misfit.shapes is None:
        raise misfit
    unknown = [TensorShape.of(None)] * len(op._outputs)
    return [*misfit.shapes, *unknown[len(misfit.shapes) :]]


@uninterrupted
def _infer_by_rule(op: Operation, infer: ShapeRule) -> bool:
    """Set the outputs' shapes by a `ShapeRule`; return False if it rejects the input shapes."""
    try:
        shape = infer.rule([tensor._shape for tensor in op._inputs])
    except Exception:  # infer_shapes reports the error
        return False
    for tensor in op._outputs:
        tensor._shape = shape
    return True


@uninterrupted
def infer_shapes(op: Operation, producer: int | None = None) -> None:
    """Set the outputs' shapes, or raise an error that names the op, its input shapes and its line.

    producer: the GraphDef version to infer for, if it differs from that of the op's graph.

    The error is a TypeError if inference raised one, otherwise a ValueError.
    """
    context = _OpContext(op)
    context.producer = op.graph._versions.producer if producer is None else producer
    try:
        try:
            shapes = op._op_def.infer(context)  # type: ignore[misc]
        except Misfit as misfit:
            shapes = _shapes_despite(misfit, op)
        for tensor, shape in zip(op._outputs, shapes):
            tensor._shape = shape
    except Exception as error:
        plain = isinstance(error, (TypeError, ValueError))
        text = str(error) if plain else f"{type(error).__name__}: {error}"
        refusal = misfit_of(error) if plain else Misfit(text)
        shapes_text = ", ".join(map(shape_text, context.shapes))
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            f"{refusal.in_graph} for '{op.name}' (op: '{op.type}') with input shapes: {shapes_text}"
            f"{refusal.behind}. Made at {op.origin}"
        ) from (None if is_refusal(error) else error)


def _html_row(op: Operation) -> OpRow:
    outputs = ", ".join(f"{out.dtype.name} {out.shape}" for out in op.outputs)
    return op.name, op.type, op.device, outputs, ", ".join(tensor.name for tensor in op.inputs)

"""BodyCopy: a copy of the operations of a function's graph, in the graph of a call.

The copies of branches and loops have separate contexts, so that gradients through the copies work
as if the function had been called in the graph. If an op has a custom gradient, this gradient is
traced when it is used, as a function inside the original function, and is copied in the same way.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.nest import flatten
from gpugraph.building.control_flow.context_base import ControlFlowContext, current
from gpugraph.building.functions.function_tracing import trace
from gpugraph.building.gradients.gradient_registry import CUSTOM
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.inlined_call import InlinedCall
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scope_state import requested_device
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_ENTERS = ("Enter", "RefEnter")
_LOCATION = "loc:@"


class BodyCopy:
    """The copies of operations of `source` in `target`, created in the current scopes of `target`.

    Attributes:
      tensors, ops: dicts from each original to its copy. At first, `tensors` has only the
        arguments.
    """

    def __init__(self, source: Graph, target: Graph, arguments: Mapping[Tensor, Tensor]) -> None:
        self.source = source
        self.target = target
        context = current(target)
        self.tensors: dict[Tensor, Tensor] = {
            inner: outer if context is None else context.capture(outer)
            for inner, outer in arguments.items()
        }
        self.ops: dict[Operation, Operation] = {}
        self._skipped = {tensor.op for tensor in arguments}
        self._later: list[tuple[Operation, int, Tensor]] = []

    def make(self, ops: Sequence[Operation] | None = None) -> None:
        """Copy `ops` or, by default, all operations of the function except its arguments."""
        chosen = self.source._ops if ops is None else ops
        originals = [op for op in chosen if op not in self._skipped]
        for op in _inputs_first(originals):
            self._copy(op)
        for op in originals:
            self._copy_controls(op, self.ops[op])
        for new, slot, tensor in self._later:
            new._update_input(slot, self.tensors[tensor])
        self._later.clear()
        self._copy_contexts(originals)
        for op in originals:
            self._copy_attributes(op, self.ops[op])

    def control(self, op: Operation) -> Operation:
        """Return the copy of an operation. For an argument, return the operation of the outer graph
        that created the passed tensor.
        """
        if op in self.ops:
            return self.ops[op]
        return self.tensors[op._outputs[0]].op

    # -- one operation

    def _copy(self, op: Operation) -> None:
        inputs: list[Tensor] = []
        late = []
        for slot, tensor in enumerate(op._inputs):
            inner = self.tensors.get(tensor)
            if inner is None:  # the back edge of a loop, which has not been copied yet
                late.append((slot, tensor))
                inner = inputs[0]
            inputs.append(inner)
        types = [tensor._dtype for tensor in op._outputs]
        if op._control_flow_context is None:
            new = self.target._make(
                op._op_def, inputs, types, self._attrs(op), op.name, compute_shapes=False
            )
            new.origin = op.origin
        else:
            new = self._inner_op(op, inputs, types)
        self._later += [(new, slot, tensor) for slot, tensor in late]
        for old, tensor in zip(op._outputs, new._outputs):
            tensor._shape = old._shape
            self.tensors[old] = tensor
        if op._device:
            new._set_device(op._device)
        if op in self.source._unfetchable:
            self.target.prevent_fetching(new)
        for old, tensor in zip(op._outputs, new._outputs):
            if old in self.source._unfeedable:
                self.target.prevent_feeding(tensor)
        self.ops[op] = new

    def _copy_controls(self, op: Operation, new: Operation) -> None:
        controls = [self.ops[c] for c in op._control_inputs if c in self.ops]
        if controls:
            new._control_inputs = tuple(dict.fromkeys([*new._control_inputs, *controls]))

    def _inner_op(
        self, op: Operation, inputs: Sequence[Tensor], types: Sequence[DType]
    ) -> Operation:
        """Copy an operation of a branch or loop of the function. Its context is copied later."""
        target, state = self.target, self.target._scope
        name = target._op_name(op.name, state.name)
        new = Operation._of(
            target, name, op._op_def, tuple(inputs), types, self._attrs(op), op.origin
        )
        if state.devices:
            new._device = requested_device(new, state)
        target._add(new, state)
        here = current(target)
        for context in () if here is None else here.outwards():
            context.known.update(new._outputs)
        return new

    def _attrs(self, op: Operation) -> dict[str, Any]:
        attrs = dict(op._attrs)
        if op.type in _ENTERS:
            attrs["frame_name"] = self._prefixed(attrs["frame_name"])
        if "_class" in attrs:
            names = [self._location(item) for item in attrs.pop("_class")]
            if kept := [name for name in names if name is not None]:
                attrs["_class"] = kept
        return attrs

    def _location(self, item: Any) -> Any:
        """Return a colocation group with its operation's name replaced by the name of the copy.
        Return None if the operation is not copied.
        """
        text = item.decode() if isinstance(item, bytes) else item
        if not text.startswith(_LOCATION):
            return item
        original = self.source._by_name.get(text[len(_LOCATION) :])
        new = None if original is None else self.ops.get(original)
        return None if new is None else f"{_LOCATION}{new.name}".encode()

    def _prefixed(self, name: Any) -> str:
        text = name.decode() if isinstance(name, bytes) else str(name)
        scope = self.target.get_name_scope()
        return f"{scope}/{text}" if scope else text

    # -- branches and loops

    def _copy_contexts(self, originals: Sequence[Operation]) -> None:
        contexts = {
            op: op._control_flow_context for op in originals if op._control_flow_context is not None
        }
        here = current(self.target)
        if contexts:
            memo: dict[int, Any] = {id(self.source): self.target}
            memo.update((id(old), new) for old, new in self.tensors.items())
            memo.update((id(old), new) for old, new in self.ops.items())
            copies: dict[ControlFlowContext, ControlFlowContext] = {}
            for op, context in contexts.items():
                copies[context] = copy.deepcopy(context, memo)
                self.ops[op]._control_flow_context = copies[context]
            self._join(copies.values(), here)

    def _join(self, copies: Any, here: ControlFlowContext | None) -> None:
        """Put copied contexts into the context of the call, under new names."""
        seen: set[ControlFlowContext] = set()
        for context in copies:
            for around in list(context.outwards()):
                if around in seen or around is here:
                    break
                seen.add(around)
                name = getattr(around, "name", None)
                if name is not None:
                    around.name = self._prefixed(name)
                if around.outer is None:
                    around.outer = here
                    if here is not None:
                        here.nested.append(around)

    # -- attributes of Python

    def _copy_attributes(self, op: Operation, new: Operation) -> None:
        for key, value in op.__dict__.items():
            if key == "_call":
                new._call = None if value is None else self._call(value)
            elif key == CUSTOM:
                setattr(new, CUSTOM, _copied_gradient(op, value, self))
            elif key not in new.__dict__:
                new.__dict__[key] = value

    def _call(self, call: InlinedCall) -> InlinedCall | None:
        """Return the record of a call that was inlined in the function, with the operations
        replaced by their copies.
        """
        if not all(op in self.ops for op in call.body):
            return None
        return call._replace(
            inputs=tuple(self.tensors[tensor] for tensor in call.inputs),
            control_inputs=tuple(self.control(op) for op in call.control_inputs),
            body=[self.ops[op] for op in call.body],
            twins={
                self.tensors[tensor]: original
                for tensor, original in call.twins.items()
                if tensor in self.tensors
            },
        )


def _inputs_first(ops: Sequence[Operation]) -> list[Operation]:
    """Return the operations in an order in which each follows its inputs, except for back edges.

    The operations may be in another order, because the op of an inlined call is older than its
    inputs.
    """
    missing = set(ops)
    ordered: list[Operation] = []
    for first in ops:
        stack = [first]
        while stack:
            op = stack[-1]
            before = [
                tensor.op
                for tensor in op._inputs
                if tensor.op in missing and not _is_back_edge(op, tensor.op)
            ]
            if op in missing and before:
                stack += before
                continue
            stack.pop()
            if op in missing:
                missing.remove(op)
                ordered.append(op)
    return ordered


def _is_back_edge(op: Operation, source: Operation) -> bool:
    return op.type in ("Merge", "RefMerge") and source.type.endswith("NextIteration")


def _copied_gradient(
    original: Operation, gradient: Callable[..., Any], body: BodyCopy
) -> Callable[..., Any]:
    """Return the gradient function for the copy of an op with a custom gradient.

    `gradient` may use any tensor of the function that contains `original`, so it is traced inside
    that function.
    """

    def call(op: Operation, *grads: Any) -> list[Any]:
        del op
        positions: list[int | None] = []

        def results(*inner: Tensor) -> list[Tensor]:
            rest = iter(inner)
            inner_grads = [None if grad is None else next(rest) for grad in grads]
            flat: list[Tensor] = []
            for value in flatten(list(gradient(original, *inner_grads))):
                positions.append(None if value is None else len(flat))
                if value is not None:
                    flat.append(raw_ops.Identity(convert_to_tensor(value)))
            return flat

        known = [convert_to_tensor(grad) for grad in grads if grad is not None]
        specs = [TensorSpec(tensor.shape, tensor.dtype.base_dtype) for tensor in known]
        with body.source.as_default():
            function = trace(results, specs, "gradient", outer_graph=body.source)
        graph = function.graph
        arguments = dict(zip(graph.inputs, known))
        for outer, inner in graph.captures.items():
            arguments[inner] = body.tensors.get(outer, outer)
        inner_copy = BodyCopy(graph, body.target, arguments)
        inner_copy.make()
        outputs = [inner_copy.tensors[tensor] for tensor in graph.outputs]
        return [None if place is None else outputs[place] for place in positions]

    return call

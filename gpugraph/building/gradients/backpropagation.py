"""Symbolic gradients: new ops in the graph that compute d ys / d xs.

Backpropagation visits each op between `xs` and `ys` once, after all its consumers. The gradients at
its outputs are summed and passed to the gradient function that its op type declares.

A gradient is a tensor, or IndexedSlices if only some of its rows are not 0. Only a few gradient
functions of this package accept IndexedSlices. All other gradient functions receive a dense tensor
instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

from gpugraph.base.dtypes import DType, resource
from gpugraph.building.control_flow.context_base import LoopContext, current, is_exit
from gpugraph.building.control_flow.gradient_state import (
    LoopGradients,
    find_loops,
    is_cond_switch,
    zeros_for_switch,
)
from gpugraph.building.gradients.gradient_paths import (
    behind,
    between,
    is_trainable,
    refuse_kept_values,
)
from gpugraph.building.gradients.gradient_registry import gradient_function
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import handle_maker, value_dtype, value_static_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import ones, ones_like, zeros, zeros_like
from gpugraph.ops.arrays.indexed_slices_to_tensor import dense, joined_slices
from gpugraph.ops.control.group_and_no_op import tuple as gated
from gpugraph.ops.framework.identity_and_shape import value_shape
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

Gradient = Tensor | IndexedSlices

_TAKE_SLICES = frozenset(
    ("Identity", "RefIdentity", "IdentityN", "ReadVariableOp", "Cast", "AddN", "ConcatV2")
    + ("Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter")
    + ("NextIteration", "RefNextIteration")
)
"""Op types of this package whose gradient functions accept IndexedSlices."""
_EXPECT_SLICES = frozenset(("Reshape", "GatherV2"))
"""Op types whose gradient functions receive IndexedSlices as a dense tensor, without a warning."""


class UnconnectedGradients:
    """The options for the gradient at an x on which no y depends."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """TensorFlow's methods of summing several gradients at a tensor. Here each method adds one
    AddN.

    If all gradients are IndexedSlices, their rows are concatenated instead.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = UnconnectedGradients.NONE,
) -> list[Any]:
    """Return the gradient of the sum of `ys` with respect to each of `xs`.

    A gradient is a tensor, or IndexedSlices for the rows that a `gather` read from an x. The
    gradient at an x on which no y depends is None, or zeros if `unconnected_gradients` is "zero".

    Raises LookupError if an op has an undeclared type. Raises ValueError if `grad_ys` has another
    length than `ys` or a shape that the backward pass rejects, or if the tensors belong to several
    graphs. Raises TypeError if a `grad_ys` is real and its `y` is complex or vice versa, or if a
    `y` is complex and has no `grad_ys`.

    Args:
      grad_ys: the gradients at `ys`, ones by default.
      stop_gradients: tensors that are treated as constant.
      gate_gradients: whether the gradients at an op's inputs become available only when all of them
        are computed.
      aggregation_method: has no effect, since every method computes the same sum.

    >>> x = tf.placeholder(tf.float32, [])
    >>> (slope,) = tf.gradients(x ** 3, x)
    >>> session.run(slope, {x: 2})
    np.float32(12.0)
    """
    if unconnected_gradients not in ("none", "zero"):
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; it is 'none' or "
            "'zero'"
        )
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(
            f"Invalid `aggregation_method` specified {aggregation_method}. Accepted: 0, 1, 2."
        )
    targets, sources, stops = _as_list(ys), _as_list(xs), _as_list(stop_gradients)
    start_grads = [None] * len(targets) if grad_ys is None else _as_list(grad_ys)
    if len(start_grads) != len(targets):
        raise ValueError(f"Passed {len(start_grads)} grad_ys for {len(targets)} ys")
    with name_scope(name, "gradients", [*targets, *sources, *stops, *start_grads]):
        graph = get_default_graph()
        targets = [_tensor(y, "y") for y in targets]
        captures: dict[Tensor, Tensor] = getattr(graph, "captures", {})  # of a function's graph
        sources = [captures.get(x, x) for x in (_tensor(source, "x") for source in sources)]
        stopped = {_tensor(stop, "stop").op for stop in stops}
        sweep = _Sweep(graph, targets, sources, stopped, colocate_gradients_with_ops)
        sweep.gate = gate_gradients
        for index, (y, grad) in enumerate(zip(targets, start_grads)):
            sweep.collect(y, _start(y, grad, index))
        sweep.run()
        grads = [sweep.gradient_at(x) for x in sources]
    sweep.finish()
    if unconnected_gradients == UnconnectedGradients.ZERO:
        return [_zeros_at(x) if grad is None else grad for x, grad in zip(sources, grads)]
    return grads


def _as_list(items: Any) -> list[Any]:
    if items is None:
        return []
    return list(items) if isinstance(items, (list, tuple)) else [items]


def _tensor(value: Any, name: str) -> Tensor:
    return convert_to_tensor(value, name=name, as_ref=True)


def _zeros_at(tensor: Tensor) -> Tensor:
    """Return zeros like `tensor`. If `tensor` is the handle of a variable, return zeros like the
    variable.
    """
    if handle_maker(tensor) is None:
        return zeros_like(tensor)
    return zeros(value_shape(tensor), value_dtype(tensor))


def _start(y: Tensor, grad: Any, index: int) -> Gradient:
    """Return the gradient at `y`, which is `ys[index]`: `grad`, or ones if `grad` is None."""
    dtype = y.dtype.base_dtype
    if not (is_trainable(y) or dtype.is_integer):
        raise TypeError(f"{y.name} is of type {dtype.name}; only numbers have a gradient")
    if grad is None:
        if dtype.is_complex:
            raise TypeError(
                f"Gradients of complex tensors must set grad_ys (y.dtype = {dtype!r}): {y.name}"
            )
        if dtype is resource:
            return ones(value_shape(y), value_dtype(y))
        return ones_like(y, name=f"grad_ys_{index}")
    if not isinstance(grad, IndexedSlices):
        grad = convert_to_tensor(grad, name=f"grad_y_{index}", preferred_dtype=dtype)
    _check_kind(y, grad.dtype.base_dtype)
    if isinstance(grad, IndexedSlices):
        return _start_of_rows(grad, index)
    return raw_ops.Identity(grad, name=f"grad_ys_{index}")


def _check_kind(y: Tensor, grad_dtype: DType) -> None:
    """Raise TypeError if the gradient is real and `y` is complex, or vice versa.

    As in TensorFlow, this function does not check the shape. If the shape is wrong, an op of the
    backward pass rejects the gradient.
    """
    dtype = y.dtype.base_dtype
    kind, fits = "real or integer", grad_dtype.is_floating or grad_dtype.is_integer
    if dtype.is_complex:
        kind, fits = "complex", grad_dtype.is_complex
    if not fits:
        raise TypeError(
            f"Gradient type {grad_dtype.name} generated for {kind}-valued tensor {y} with type "
            f"{dtype.name} must be {kind}"
        )


def _start_of_rows(grad: IndexedSlices, index: int) -> IndexedSlices:
    """Return `grad` with each component passed through an Identity. `index` is part of the
    Identity's name.
    """
    named_parts = (("values", grad.values), ("indices", grad.indices), ("shape", grad.dense_shape))
    parts = [
        None if part is None else raw_ops.Identity(part, name=f"grad_ys_{index}_{name}")
        for name, part in named_parts
    ]
    return IndexedSlices(*parts)


class _Sweep:
    """One backward pass.

    Attributes:
      pending: for each visited op, the number of times that its outputs are inputs of visited ops
        that have not been processed yet.
    """

    def __init__(
        self,
        graph: Graph,
        ys: Sequence[Tensor],
        xs: Sequence[Tensor],
        stops: set[Operation],
        colocate: bool,
    ) -> None:
        self.graph = graph
        self.colocate = colocate
        self.gate = False
        self.grads: dict[Tensor, list[Gradient]] = {}
        self.wanted = set(xs)
        self.since = graph.version
        refuse_kept_values(ys, xs, stops)
        paths = between(ys, xs)
        self.loops, exits = find_loops(graph, paths, colocate)
        paths.update(dict.fromkeys(exits))
        self.pending = dict.fromkeys(paths, 0)
        for op in paths:
            for tensor in op._inputs:
                if tensor.op in self.pending:
                    self.pending[tensor.op] += 1
        self.stops = stops.union(x.op for x in xs if not self._is_fed(x.op))
        starts = dict.fromkeys(y.op for y in ys if self.pending.get(y.op) == 0)
        self.ready = deque(starts)

    def _is_fed(self, op: Operation) -> bool:
        """Return whether the op has an input from another op that the pass visits."""
        return any(self.pending.get(tensor.op) for tensor in op._inputs)

    def collect(self, tensor: Tensor, grad: Gradient | None) -> None:
        """Add `grad` to the gradients that were collected at `tensor`, unless `grad` is None."""
        if grad is not None:
            self.grads.setdefault(tensor, []).append(grad)

    def gradient_at(self, tensor: Tensor) -> Gradient | None:
        """Return the sum of the gradients that were collected at a tensor, or None if there are
        none.
        """
        arrived = self.grads.get(tensor)
        if not arrived:
            return None
        if len(arrived) > 1:
            arrived[:] = [self._sum(list(arrived), tensor)]
        return arrived[0]

    def _sum(self, arrived: list[Gradient], tensor: Tensor) -> Gradient:
        slices = [grad for grad in arrived if isinstance(grad, IndexedSlices)]
        if len(slices) == len(arrived):
            return joined_slices(slices)
        holder = next(grad for grad in arrived if isinstance(grad, Tensor)).op
        if self.colocate and len({grad.device for grad in arrived}) > 1:
            holder = tensor.op
        if not slices:
            with self.graph.colocate_with(holder, ignore_existing=True):
                total: Tensor = raw_ops.AddN(arrived)
            return total
        with self.graph.name_scope("AddN") as scope:  # conversions to dense are not colocated
            whole = [
                convert_to_tensor(grad, name=f"inputs_{index}")
                for index, grad in enumerate(arrived)
            ]
            with self.graph.colocate_with(holder, ignore_existing=True):
                total = raw_ops.AddN(whole, name=scope)
        return total

    def run(self) -> None:
        """Visit each op between ys and xs, consumers first. Each op is visited once, except
        Switches of loops, which are visited twice.
        """
        if self.loops is not None:
            for tensor in self.loops.first_exits(self.pending, set(self.ready)):
                if is_trainable(tensor):
                    self.collect(tensor, self.loops.zeros_for_exit(tensor))
                    self.ready.append(tensor.op)
        while self.ready:
            op = self.ready.popleft()
            self._propagate(op)
            for tensor in op._inputs:
                if tensor.op in self.pending:
                    self._arrive(tensor)

    def finish(self) -> None:
        """Complete the backward loops. All gradients must exist."""
        if self.loops is not None:
            all_grads = [grad for grads in self.grads.values() for grad in grads]
            self.loops.finish([part for grad in all_grads for part in _parts(grad)], self.since)

    def _arrive(self, tensor: Tensor) -> None:
        """Record that one consumer of `tensor` has been processed. After the last consumer, put the
        producer of `tensor` into the queue.
        """
        maker = tensor.op
        self.pending[maker] -= 1
        left = self.pending[maker]
        if self.loops is None or maker._control_flow_context is None:
            if left == 0:
                self.ready.append(maker)
        elif left == 0 and is_exit(maker):
            self._leave_loop(self.loops, tensor)
        elif left == 0 or (left > 0 and self.loops.is_loop_switch(maker)):
            self.ready.append(maker)

    def _leave_loop(self, loops: LoopGradients, tensor: Tensor) -> None:
        used, unused = loops.exit_reached(tensor, self._has_gradient)
        for exit_tensor in unused if used else ():
            if is_trainable(exit_tensor):
                self.collect(exit_tensor, loops.zeros_for_exit(exit_tensor))
        self.ready.extend(exit_tensor.op for exit_tensor in [*used, *unused])

    def _has_gradient(self, op: Operation) -> bool:
        return any(self.grads.get(tensor) for tensor in op._outputs)

    def _propagate(self, op: Operation) -> None:
        """Compute the gradients at the op's inputs from the gradients at its outputs."""
        if self.loops is None:
            out_grads = [self.gradient_at(tensor) for tensor in op._outputs]
        else:
            with self.loops.backward(op, before=True):
                out_grads = [self.gradient_at(tensor) for tensor in op._outputs]
                if is_exit(op):
                    out_grads = [None if grad is None else dense(grad) for grad in out_grads]
        if op in self.stops or not op._inputs or all(grad is None for grad in out_grads):
            return
        with self.loops.backward(op) if self.loops is not None else nullcontext():
            in_grads = self._in_grads(op, out_grads)
        for index, (tensor, grad) in enumerate(zip(op._inputs, in_grads)):
            if grad is None or not (tensor in self.wanted or tensor.op in self.pending):
                continue
            shape = value_static_shape(tensor)
            if not grad.shape.is_compatible_with(shape):
                raise ValueError(
                    "Incompatible shapes between op input and calculated input gradient. Forward "
                    f"operation: {op.name} (op type: {op.type}). Input index: {index}. Original "
                    f"input shape: {shape}. Calculated input gradient shape: {grad.shape}"
                )
            if shape.sizes is not None:
                grad.set_shape(shape)
            self.collect(tensor, grad)

    def _in_grads(self, op: Operation, out_grads: list[Gradient | None]) -> list[Any]:
        function = gradient_function(op)
        if function is None:
            return [None] * len(op._inputs)
        self._check_no_initial_value(op)
        if self.loops is not None:
            self.loops.check_branch(op)
        with ExitStack() as stack:
            if self.colocate:
                stack.enter_context(self.graph.colocate_with(op))
            filled = [
                self._zeros(op, tensor) if grad is None and is_trainable(tensor) else grad
                for tensor, grad in zip(op._outputs, out_grads)
            ]
            stack.enter_context(self.graph.name_scope(f"{op.name}_grad"))
            result = function(op, *[_as_accepted(op, grad) for grad in filled])
            grads = list(result) if isinstance(result, (list, tuple)) else [result]
            if len(grads) != len(op._inputs):
                raise ValueError(
                    f"The gradient function of '{op.name}' (op type: {op.type}) gave {len(grads)} "
                    f"gradients for {len(op._inputs)} inputs"
                )
            if self.gate and sum(grad is not None for grad in grads) > 1:
                with self.graph.colocate_with(None, ignore_existing=True):
                    grads = gated(grads)
        return grads

    def _check_no_initial_value(self, op: Operation) -> None:
        """Raise ValueError if gradients that are built in a loop's body reach the Switch of that
        loop.
        """
        context = op._control_flow_context
        in_loop = isinstance(context, LoopContext) and context is current(self.graph)
        if not in_loop or op.type not in ("Switch", "RefSwitch") or not context.owns(op):
            return
        x = next((x for x in self.wanted if x.op in behind(op)), None)
        raise ValueError(
            "Cannot compute gradient inside while loop with respect to op "
            f"'{op.name if x is None else x.op.name}'. We do not support taking the gradient wrt "
            "or through the initial value of a loop variable. Gradients can be computed through "
            "loop invariants or wrt the input parameters to the loop body. "
            f"('{op.name}' was made at {op.origin})"
        )

    def _zeros(self, op: Operation, tensor: Tensor) -> Tensor | None:
        """Return zeros as the gradient at an output of `op` that has no gradient. At a loop's
        Switch, return None.
        """
        if op._control_flow_context is None:
            if handle_maker(tensor) is None:
                return zeros_like(tensor, optimize=False)  # gradient functions recognize zeros
            return _zeros_at(tensor)
        if self.loops is not None:
            return self.loops.zeros_for(op, tensor.value_index)
        return zeros_for_switch(op, tensor) if is_cond_switch(op) else _zeros_at(tensor)


def _parts(grad: Gradient) -> list[Tensor]:
    return grad._parts() if isinstance(grad, IndexedSlices) else [grad]


def _as_accepted(op: Operation, grad: Gradient | None) -> Gradient | None:
    """Return `grad` in the form that the op's gradient function accepts."""
    if not isinstance(grad, IndexedSlices):
        return grad
    name = op._attrs.get("_gradient_op_type", op.type)
    name = name if isinstance(name, str) else name.decode()
    if name in _TAKE_SLICES or name not in DECLARATIONS:
        return grad
    return dense(grad) if name in _EXPECT_SLICES else convert_to_tensor(grad)

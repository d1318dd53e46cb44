"""`tf.while_loop`: a function of tensors that is repeated as long as a condition is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.nest import assert_same_structure, flatten, is_nested
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.automatic_control_dependencies import InnerBlocks
from gpugraph.building.control_flow.composite_flow import (
    check_kinds,
    flat_tensors,
    invariant_shapes,
    packed,
)
from gpugraph.building.control_flow.context_base import within
from gpugraph.building.control_flow.switch_merge_enter_exit import (
    exit_loop,
    is_constant_enter,
    merge,
    same,
)
from gpugraph.building.control_flow.while_context import WhileContext
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Apply `body` to `loop_vars` repeatedly, as long as `cond` returns true for them, and return
    the result.

    The result has the structure that `body` returns. `cond` and `body` are each called once, when
    the graph is built.

    Raises TypeError if a function isn't callable, if `parallel_iterations` is below 1, or if the
    result of `body` has another structure type or dtype than `loop_vars`. Raises ValueError if
    there are no loop variables, if the result of `body` has another structure, or if a shape
    violates its invariant.

    Args:
      cond: a function that receives the loop variables and returns a bool scalar.
      body: a function that receives the loop variables and returns new values for them, with the
        same structure and dtypes.
      loop_vars: a list, tuple or dict, possibly nested, of values that are convertible to tensors,
        and of TensorArrays, SparseTensors and IndexedSlices.
      shape_invariants: static shapes that are valid in every iteration, as TensorShapes or
        TensorSpecs in the structure of `loop_vars`. None in place of a shape means the shape at
        entry. By default no shape may change. For a SparseTensor, the invariant is the shape of its
        `dense_shape`. For IndexedSlices, it is the shape of their values.
      parallel_iterations: the number of iterations that may overlap, at least 1.
      back_prop: whether the loop is differentiable.
      swap_memory: whether values that gradients need may be kept in host memory.
      maximum_iterations: an int scalar, the maximum number of iterations.
      return_same_structure: if False, a single tensor is returned without the list or tuple around
        it.

    >>> _, total = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + i), [0, 0])
    >>> session.run(total)
    np.int32(10)
    """
    if isinstance(loop_vars, Tensor):
        raise TypeError(f"loop_vars must be a list or tuple of tensors, not the tensor {loop_vars}")
    with name_scope(name, "while", flatten(loop_vars)):
        _check(cond, body, loop_vars, parallel_iterations)
        lone = len(loop_vars) == 1 and not return_same_structure
        counted = maximum_iterations is not None
        limit = None
        if counted:
            limit = _limit(maximum_iterations)
            variables = loop_vars[0] if lone else loop_vars
            loop_vars = (constant(0, limit.dtype, name="iteration_counter"), variables)
            cond, body = _counted(cond, body, limit, lone)
            if shape_invariants is not None:
                is_list = lone and isinstance(shape_invariants, (list, tuple))
                held = shape_invariants[0] if is_list else shape_invariants
                shape_invariants = (TensorShape([]), held)
        if shape_invariants is not None:
            assert_same_structure(loop_vars, shape_invariants)
        graph = get_default_graph()
        context = WhileContext(graph, parallel_iterations, back_prop, swap_memory, limit)
        if context.outer is None:
            graph.add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        loop = _Loop(context, loop_vars, shape_invariants)
        result = loop.build(cond, body)
    if counted:
        return result[1]
    return result[0] if len(loop.originals) == 1 and not return_same_structure else result


def _check(cond: Any, body: Any, loop_vars: Any, parallel_iterations: int) -> None:
    if not loop_vars:
        raise ValueError("No loop variables provided")
    if not callable(cond):
        raise TypeError(f"cond must be callable, but it is {cond!r}")
    if not callable(body):
        raise TypeError(f"body must be callable, but it is {body!r}")
    if parallel_iterations < 1:
        raise TypeError(
            f"parallel_iterations must be a positive integer, but it is {parallel_iterations}"
        )


def _limit(maximum_iterations: Any) -> Tensor:
    limit = convert_to_tensor(maximum_iterations, name="maximum_iterations")
    if limit.shape.rank != 0:
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
    return limit


def _counted(
    cond: Callable[..., Any], body: Callable[..., Any], limit: Tensor, lone: bool
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return `cond` and `body` as functions that receive a counter as an additional first argument.
    The new `cond` is false when the counter has reached `limit`.

    Args:
      lone: whether there is a single loop variable, which is passed without a list around it.
    """

    def counted_cond(counter: Tensor, held: Any) -> Any:
        within_limit = counter < limit
        return raw_ops.LogicalAnd(within_limit, cond(held) if lone else cond(*held))

    def counted_body(counter: Tensor, held: Any) -> Any:
        return counter + 1, body(held) if lone else body(*held)

    return counted_cond, counted_body


class _Loop:
    """A builder of one loop.

    Attributes:
      originals: the flat loop variables as the caller passed them.
      tensors: the components of the loop variables.
      shapes: the static shape that each component has in all iterations, or None for the shape at
        entry.
    """

    def __init__(self, context: WhileContext, loop_vars: Any, shape_invariants: Any) -> None:
        self.context = context
        self.graph = context.graph
        self.structure = loop_vars
        self.originals = flatten(loop_vars)
        self.blocks = InnerBlocks(self.graph)
        self.tensors = self.blocks.after_pending(flat_tensors(loop_vars))
        invariants = [None] * len(self.originals)
        if shape_invariants is not None:
            invariants = flatten(shape_invariants)
        self.shapes = [
            shape
            for original, invariant in zip(self.originals, invariants)
            for shape in invariant_shapes(original, invariant)
        ]

    def build(self, cond: Callable[..., Any], body: Callable[..., Any]) -> Any:
        """Build the loop's ops. Return the final values in the structure of the body's result."""
        context = self.context
        with within(self.graph, context):
            merged = self._merged(self._entered())
            with self.blocks.block() as completed:
                pred = convert_to_tensor(cond(*packed(self.structure, merged)))
                (pred,) = completed([pred])
            context.pred = raw_ops.LoopCond(pred, name="LoopCond")
            switches = [context.switch(tensor) for tensor in merged]
            inside = [same(switch[1]) for switch in switches]
            context.body_pivot = inside[0].op
            arguments = packed(self.structure, inside)
            with self.blocks.block() as completed:
                result = body(*arguments)
                if not is_nested(result):
                    result = [result]
                assert_same_structure(list(arguments), list(result))
                check_kinds(list(arguments), list(result))
                results = completed(flat_tensors(result))
            self._close(merged, results)
            context.exits = [exit_loop(switch[0]) for switch in switches]
            context.leave(context.exits)
        self.blocks.finish(context.exits)
        return packed(result, context.exits)

    def _entered(self) -> list[Tensor]:
        """Return the Enters of the loop variables."""
        context = self.context
        context.known = set(self.tensors)
        sources = self.tensors
        if context.outer is not None:
            sources = [context.outer.capture(tensor) for tensor in sources]
        with self.graph.control_dependencies(None):
            entered = [context.enter(tensor) for tensor in sources]
        for tensor in entered:
            self.graph.prevent_feeding(tensor)
        self._guard(entered)
        self._open_shapes(sources, entered)
        for tensor in entered:
            context.adopt_enter(tensor)
        context.enters = entered
        return entered

    def _guard(self, entered: Sequence[Tensor]) -> None:
        """If a loop variable starts as an invariant of an outer loop, make its Enter wait for the
        outer context's pivot.

        Otherwise the Enter would run one more time after the outer loop's last iteration.
        """
        context = self.context.outer
        while context is not None and context.control_pivot is None:
            context = context.outer
        if context is None or context.control_pivot is None:
            return
        for tensor in entered:
            if is_constant_enter(tensor.op._inputs[0]):
                tensor.op._add_control_input(context.control_pivot)

    def _open_shapes(self, sources: Sequence[Tensor], entered: Sequence[Tensor]) -> None:
        """Set the static shapes of the Enters to the shape invariants.

        Raises ValueError if an initial value does not match its invariant.
        """
        for source, tensor, shape in zip(sources, entered, self.shapes):
            if shape is None:
                continue
            if not is_subshape(source.shape, shape):
                raise ValueError(
                    f"The shape invariant specified for {source.name} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape "
                    f"{source.shape}, but the specified shape invariant is {shape}."
                )
            tensor._shape = shape

    def _merged(self, entered: Sequence[Tensor]) -> list[Tensor]:
        context = self.context
        context.known = set(entered)
        merged = [merge([tensor, tensor]) for tensor in entered]
        context.pred_pivot = merged[0].op
        return merged

    def _close(self, merged: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Check the dtypes and shapes of the body's results, and pass the results to the next
        iteration.
        """
        for before, after, source in zip(merged, results, self.tensors):
            if before.dtype.base_dtype is not after.dtype.base_dtype:
                raise TypeError(
                    f"The loop variable '{source.name}' is {source.dtype.name}, but after one "
                    f"iteration it is '{after.name}', which is {after.dtype.name}"
                )
            if not is_subshape(after.shape, before.shape):
                raise ValueError(
                    f"Input tensor '{source.name}' enters the loop with shape {source.shape}, but "
                    f"has shape {after.shape} after one iteration. To allow the shape to vary "
                    "across iterations, use the `shape_invariants` argument of tf.while_loop to "
                    "specify a less-specific shape."
                )
        for before, after in zip(merged, results):
            self.context.close(before, after)


def is_subshape(shape: TensorShape, wider: TensorShape) -> bool:
    """Return whether every tensor of static shape `shape` also has the static shape `wider`."""
    if wider.sizes is None:
        return True
    if shape.sizes is None or len(shape.sizes) != len(wider.sizes):
        return False
    return all(size is None or size == narrow for narrow, size in zip(shape.sizes, wider.sizes))

"""Functions that are cut into pieces. The cuts are ops whose output sizes depend on the values of
inputs, such as DecodeJpeg and StringSplit.

    decode | flip, crop, scale | where | gather, sum

The ops between two cuts form a piece. All shapes in a piece can be computed from the shapes of its
inputs. Therefore a run of a piece knows all shapes at its start. One native call can execute such a
run for any sizes (`compile/binding/open_plan.py`). An op at a cut is called alone, and its results
need no copy. Ops on strings, which are not native, are called alone too.

A function is not cut if it has branches or loops, or if a control dependency or a handle would
cross a cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpugraph.base.dtypes import HANDLES, resource, string
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import reference
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel
from gpugraph.ops.op_index import load
from gpugraph.session.direct_kernels import VIEWS
from gpugraph.session.lazy_choices import choices_in, deferred_in


class FunctionPiece(NamedTuple):
    """The part of a function between two cuts, or a single op at a cut.

    Args:
      feeds: the tensors that earlier pieces return, or arguments of the function.
      fetches: the tensors that later pieces use, or results of the function.
      targets: the operations that run even if no tensor needs them.
      has_seeds: whether an operation of the piece draws random numbers.
      values: for each feed, the tensor whose value is fed. If the piece only uses the shape of the
        feed, this may be another tensor of the same shape.
      cut: the operation, if the piece is a single operation at a cut. Otherwise it is None.
    """

    feeds: tuple[Tensor, ...]
    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    has_seeds: bool
    values: tuple[Tensor, ...]
    cut: Operation | None = None


def whole_function(graph: FuncGraph) -> FunctionPiece:
    """Return a piece that is the whole function."""
    return FunctionPiece(
        tuple(graph.fed),
        tuple(graph.outputs),
        tuple(graph.controls),
        graph.has_seeds,
        tuple(graph.fed),
    )


def pieces_of(graph: FuncGraph) -> Sequence[FunctionPiece]:
    """Return the pieces of a function in the order in which they run. Without a cut there is one
    piece.
    """
    whole = whole_function(graph)
    if any(op._control_flow_context is not None for op in graph._ops):
        return [whole]
    pieces = _Levels(graph).pieces()
    return [whole] if pieces is None else pieces


_SHAPES = ("Shape", "ShapeN", "Size", "Rank")


class _Levels:
    """The levels of the ops of a function.

    The level of an op is the maximum number of cuts on a path to it. Ops run in the order of their
    levels. Within a level, the cuts run last. Ops that depend on no argument and have no effect
    have no level. They are free, which means that they are part of each piece that uses them.
    """

    def __init__(self, graph: FuncGraph) -> None:
        self.graph = graph
        self.fed = set(graph.fed)
        self.cuts: set[Operation] = set()
        self.free: set[Operation] = set()
        self.level: dict[Operation, int] = {}
        self._by_value = set(self.fed)  # tensors whose values do not follow from shapes
        for op in graph._ops:
            if self._is_free(op) and not self._is_fed(op):
                self.free.add(op)
        self._choices = choices_in(graph, self.free)
        self._alone = self._choices | deferred_in(graph, self._choices)
        for op in graph._ops:
            self._add(op)
        self.last = 1 + max((self.level[op] for op in self.cuts), default=-1)
        self._delay()

    def _add(self, op: Operation) -> None:
        if self._is_fed(op) or op in self.free:
            return
        is_shape = op.type in _SHAPES
        if not is_shape and (op._op_def.is_stateful or self._by_value.intersection(op._inputs)):
            self._by_value.update(op._outputs)
        before = [tensor.op for tensor in self._inputs(op)] + list(op.control_inputs)
        levels = [self.level[o] + (o in self.cuts) for o in before if o in self.level]
        self.level[op] = max(levels, default=0)
        if op in self._alone or _is_called_alone(op, self._by_value):
            self.cuts.add(op)

    def _inputs(self, op: Operation) -> list[Tensor]:
        """Return the inputs of an op. If the op only needs the shape of a choice, return another
        tensor of this shape, which is available before the choice.
        """
        is_shape = op.type in _SHAPES
        return [self._of_same_shape(t) if is_shape else t for t in op._inputs]

    def _of_same_shape(self, tensor: Tensor) -> Tensor:
        while tensor.op in self._alone:
            tensor = tensor.op._inputs[-1 if tensor.op in self._choices else 0]
        return tensor

    def _is_fed(self, op: Operation) -> bool:
        return bool(op._outputs) and op._outputs[0] in self.fed

    def _is_free(self, op: Operation) -> bool:
        if op._outputs and not op._inputs and all(t._dtype is resource for t in op._outputs):
            return True  # it returns the object of a container and a name
        before = [*(tensor.op for tensor in op._inputs), *op.control_inputs]
        is_constant = not self.fed.intersection(op._inputs) and self.free.issuperset(before)
        return is_constant and not op._op_def.is_stateful and not _has_handles(op._outputs)

    def _delay(self) -> None:
        """Move ops to later levels, so that there are few pieces. An op may not move beyond the
        level of the first op that uses it.
        """
        latest: dict[Operation, int] = {}
        for op in reversed(self.graph._ops):
            if op not in self.level:
                continue
            latest[op] = self.level[op] if self._is_fixed(op) else latest.get(op, self.last)
            for other in (*(tensor.op for tensor in self._inputs(op)), *op.control_inputs):
                latest[other] = min(latest.get(other, self.last), latest[op])
        moved = [op for op in self.level if op not in self.cuts]
        chosen: list[int] = []  # levels, so that each op may run on one of them
        for op in sorted(moved, key=lambda op: latest[op]):
            if not chosen or chosen[-1] < self.level[op]:
                chosen.append(latest[op])
        for op in moved:
            self.level[op] = next(level for level in chosen if level >= self.level[op])

    def _is_fixed(self, op: Operation) -> bool:
        """Return whether an op must run on its first level."""
        if op in self.cuts or any(other in self.level for other in op.control_inputs):
            return True
        return op._op_def.is_stateful and "seed2" not in op._attrs

    def pieces(self) -> list[FunctionPiece] | None:
        """Return the pieces. If the function has no cut, or can't be cut, return None."""
        if not self.cuts or any(self._is_ordered(op) for op in self.level):
            return None
        groups: list[list[Operation]] = []
        for level in range(self.last + 1):
            ops = [op for op in self.graph._ops if self.level.get(op) == level]
            groups.append([op for op in ops if op not in self.cuts])
            groups += [[op] for op in ops if op in self.cuts]
        pieces = [self._piece(ops, number == len(groups) - 1) for number, ops in enumerate(groups)]
        if any(_has_handles((*piece.feeds, *piece.fetches)) for piece in pieces):
            return None
        return [piece for piece in pieces if piece.fetches or piece.targets]

    def _is_ordered(self, op: Operation) -> bool:
        """Return whether `op` must run after an op of another piece, although it receives no tensor
        from this op.
        """
        for other in op.control_inputs:
            if other in self.cuts or self.level.get(other, self.level[op]) != self.level[op]:
                return True
            if op in self.cuts and other in self.level:
                return True
        return False

    def _piece(self, ops: Sequence[Operation], is_last: bool) -> FunctionPiece:
        inside = set(ops)
        used = [(op, tensor) for op in ops for tensor in op._inputs]
        feeds = [tensor for _, tensor in used if not self._is_in(tensor, inside)]
        later = {t for op in self.level if op not in inside for t in self._inputs(op)}
        by_value = {tensor for op, tensor in used if op.type not in _SHAPES}
        values = [t if t in by_value else self._of_same_shape(t) for t in dict.fromkeys(feeds)]
        outputs = dict.fromkeys(self.graph.outputs)
        results = [t for op in ops for t in op._outputs if t in later or t in outputs]
        if is_last:  # constants among the results
            results += [t for t in outputs if t.op in self.free]
        cut = ops[0] if ops and ops[0] in self.cuts else None
        if cut is not None:
            results = list(cut._outputs)
        seeds = any(op._op_def.is_stateful and "seed2" in op._attrs for op in ops)
        targets = tuple(op for op in self.graph.controls if op in inside)
        return FunctionPiece(
            tuple(dict.fromkeys(feeds)), tuple(results), targets, seeds, tuple(values), cut
        )

    def _is_in(self, tensor: Tensor, inside: set[Operation]) -> bool:
        return tensor.op in inside or tensor.op in self.free


def _has_handles(tensors: Iterable[Tensor]) -> bool:
    return any(t._dtype.base_dtype in HANDLES or t._dtype._is_ref_dtype for t in tensors)


def _is_called_alone(op: Operation, by_value: set[Tensor]) -> bool:
    """Return whether the op's kernel is called alone, because this takes less time than a step of a
    run.

    This is the case if the sizes of the outputs, or the part of an input that the op returns,
    depend on values. It is also the case for ops on strings that have no effect.
    """
    if op.type in VIEWS and not by_value.isdisjoint(op._inputs[1:]):
        return True
    if not op._op_def.is_stateful and any(
        tensor._dtype is string for tensor in (*op._inputs, *op._outputs)
    ):
        return True
    return _has_sizes_by_values(op, by_value)


def _has_sizes_by_values(op: Operation, by_value: set[Tensor]) -> bool:
    """Return whether the shapes of the outputs depend on the values of inputs, not on their shapes
    alone.
    """
    if all(tensor.shape.is_fully_defined() for tensor in op._outputs):
        return False
    load(op.type)
    kernel_def = find_kernel(op.type, "CPU", op._attrs)
    if kernel_def is None or isinstance(kernel_def.kernel, HostOnly):
        return False
    if reference(kernel_def.kernel).dynamic:
        return True
    asked: set[int] = set()
    infer = op._op_def.infer
    if infer is None:
        return False
    shapes = [tensor.shape for tensor in op._inputs]
    types = [tensor._dtype for tensor in op._inputs]
    try:
        infer(InferContext(shapes, op._attrs, types, len(op._outputs), asked.add))
    except (ValueError, TypeError, AttributeError, NotImplementedError):
        return False
    return any(op._inputs[slot] in by_value for slot in asked)

"""Automatic control dependencies: stateful ops run in the order in which a function creates them.

In an `AutomaticControlDependencies` block,

- ops that change the same resource or reference variable run in program order, and reads run
  between the writes that surround them;
- other stateful ops (files, printing, Python functions) also run in program order;
- every op with an effect runs if the block's returned tensors are computed.

A branch of `tf.cond` and the body of `tf.while_loop` have separate blocks. The outer block treats
the whole branch or loop as one op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from gpugraph.base.dtypes import resource
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.node_messages import is_stateful_in_tensorflow
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops

_UNORDERED = frozenset(
    [
        "CollectiveGather",
        "CollectiveReduce",
        "CollectiveBcastSend",
        "CollectiveBcastRecv",
        "NcclAllReduce",
        "RandomUniform",
        "RandomUniformInt",
        "RandomStandardNormal",
        "ParameterizedTruncatedNormal",
        "TruncatedNormal",
        "RandomShuffle",
        "Multinomial",
        "RandomGamma",
        "RandomGammaGrad",
        "RandomPoisson",
        "RandomPoissonV2",
    ]
)
"""Stateful op types whose order is free, as in TensorFlow."""

_MOVES = frozenset(
    [
        "Identity",
        "RefIdentity",
        "Switch",
        "RefSwitch",
        "Enter",
        "RefEnter",
        "Merge",
        "RefMerge",
        "Exit",
        "RefExit",
        "NextIteration",
        "RefNextIteration",
        "IdentityN",
    ]
)
_READS = frozenset(
    ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp")
)
_OTHERWISE_ORDERED = ("TensorArray", "Stack")
"""Prefixes of op types whose order follows from a flow tensor, or from control inputs."""

OTHER_EFFECTS: Any = "other effects"
"""The key of stateful ops without a resource."""


class _Uses(NamedTuple):
    """The most recent uses of a resource: the last op that wrote it, and the ops that have read it
    since then.
    """

    write: Operation | None
    reads: tuple[Operation, ...]


class AutomaticControlDependencies:
    """A context manager that orders the stateful ops created in its block. All of them must be in
    one graph.

    Attributes:
      ops_which_must_run: the ops with effects, set at the end of the block.
    """

    def __init__(self) -> None:
        self.ops_which_must_run: set[Operation] = set()
        self._returned: list[Tensor] = []
        self._uses: dict[Any, _Uses] = {}
        self._effects: dict[Operation, None] = {}
        self._next = 0

    def __enter__(self) -> AutomaticControlDependencies:
        self._graph: Graph = get_default_graph()
        self._state = self._graph._scope
        self._outer = self._state.automatic
        self._context = self._state.control_flow
        self._state.automatic = self
        self._next = self._graph.version
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._state.automatic = self._outer
        if kind is not None:
            return
        if self._graph is not get_default_graph():
            raise RuntimeError("Graph changed while trying to add control dependencies.")
        self._advance()
        self.ops_which_must_run = set(self._effects)
        for tensor in self._returned:
            for effect in self._effects:
                if effect is not tensor.op:
                    tensor.op._add_control_input(effect)

    def mark_as_return(self, tensor: Any) -> Tensor:
        """Return a copy of a tensor. The copy waits for all ops of the block that have effects."""
        copy: Tensor = raw_ops.Identity(tensor)
        self._returned.append(copy)
        return copy

    def _advance(self) -> None:
        """Order the operations that were created since the last call."""
        ops = self._graph._ops
        while self._next < len(ops):
            op = ops[self._next]
            self._next += 1
            if op._control_flow_context is self._context and op.type not in _MOVES:
                self._order(op)

    def _order(self, op: Operation) -> None:
        if op.type.startswith(_OTHERWISE_ORDERED):
            return
        keys = _resources(op)
        is_stateful = is_stateful_in_tensorflow(op._op_def) and op.type not in _UNORDERED
        if not keys and is_stateful and not _makes_handle(op):
            keys = {OTHER_EFFECTS}
        if keys:
            is_read = op.type in _READS
            self._record(op, keys, is_read)
            if not is_read:
                self._effects[op] = None

    def _record(self, op: Operation, keys: Iterable[Any], is_read: bool) -> None:
        """Make `op` wait for conflicting earlier uses of its resources, and record the op as the
        latest use of these resources.
        """
        for key in keys:
            last = self._uses.get(key, _Uses(None, ()))
            before = [] if last.write is None else [last.write]
            if not is_read:
                before += last.reads
            for earlier in before:
                if earlier is not op and earlier._id < op._id:
                    op._add_control_input(earlier)
            self._uses[key] = _Uses(last.write, (*last.reads, op)) if is_read else _Uses(op, ())

    # -- branches and loops

    def pending(self) -> list[Operation]:
        """Return the ops that a branch or loop must wait for if it begins now."""
        self._advance()
        last: dict[Operation, None] = {}
        for uses in self._uses.values():
            last.update(dict.fromkeys(uses.reads))
            if uses.write is not None:
                last[uses.write] = None
        return list(last)

    def adopt(self, inner: Sequence[AutomaticControlDependencies], result: Operation) -> None:
        """Treat a finished branch or loop as a single op, `result`, which uses all resources that
        its blocks `inner` use.
        """
        self._next = self._graph.version
        for block in inner:
            for key, uses in block._uses.items():
                is_read = uses.write is None
                known = self._uses.get(key, _Uses(None, ()))
                reads = (*known.reads, result) if is_read else ()
                self._uses[key] = _Uses(known.write if is_read else result, reads)
            if block._effects:
                self._effects[result] = None

    def adopt_call(self, uses: Mapping[Any, bool], op: Operation) -> None:
        """Treat the inlined call of a function as a single op.

        Args:
          uses: the resources that the call uses, from `resource_uses`.
        """
        self._next = self._graph.version
        for key, is_read in uses.items():
            self._record(op, [key], is_read)
            if not is_read:
                self._effects[op] = None

    def summary(self) -> dict[Any, bool]:
        """Return, for each resource that the ops of the block use, whether these ops only read the
        resource.
        """
        return {key: uses.write is None for key, uses in self._uses.items()}

    # -- trial calls

    def saved(self) -> Callable[[], None]:
        """Return a function that restores the state of this block."""
        uses, effects, returned = dict(self._uses), dict(self._effects), list(self._returned)
        following = self._next

        def restore() -> None:
            self._uses, self._effects = uses, effects
            self._returned, self._next = returned, following

        return restore


def _makes_handle(op: Operation) -> bool:
    """Return whether the op only creates a handle or a reference, as the ops of variables, queues
    and tables do.
    """
    return bool(op._outputs) and all(
        tensor._dtype is resource or tensor._dtype._is_ref_dtype for tensor in op._outputs
    )


def _resources(op: Operation) -> set[Any]:
    """Return the ops that created the handles and references among the inputs of `op`."""
    return {
        _maker(tensor)
        for tensor in op._inputs
        if tensor._dtype is resource or tensor._dtype._is_ref_dtype
    }


def _maker(tensor: Tensor) -> Any:
    op = tensor.op
    while op.type in _MOVES and op._inputs:
        index = tensor.value_index if op.type == "IdentityN" else 0
        tensor = op._inputs[index]
        op = tensor.op
    return op


def resource_uses(graph: Graph, arguments: Mapping[Tensor, Tensor]) -> dict[Any, bool]:
    """Return, for each resource that a call of a traced function uses, whether the call only reads
    it.

    Args:
      graph: the function's graph.
      arguments: maps each argument tensor of the function's graph to the tensor that the call
        passes.
    """
    makers = {_maker(inner): _maker(outer) for inner, outer in arguments.items()}
    known: dict[Any, bool] = graph.resource_uses  # type: ignore[attr-defined]
    return {
        OTHER_EFFECTS if key is OTHER_EFFECTS else makers[key]: is_read
        for key, is_read in known.items()
        if key is OTHER_EFFECTS or key in makers
    }


class InnerBlocks:
    """The blocks of the branches of a `tf.cond`, or of a loop's condition and body.

    Its methods have no effect unless an `AutomaticControlDependencies` block is active in the
    graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outer: AutomaticControlDependencies | None = graph._scope.automatic
        self._inner: list[AutomaticControlDependencies] = []

    def after_pending(self, tensors: Sequence[Any]) -> list[Any]:
        """Return copies of the tensors. The copies wait for all effects that precede the branch or
        loop.
        """
        ops = [] if self._outer is None else self._outer.pending()
        if not ops:
            return list(tensors)
        with self._graph.control_dependencies(ops):
            return [
                tensor if tensor._dtype._is_ref_dtype else raw_ops.Identity(tensor)
                for tensor in tensors
            ]

    @contextmanager
    def block(self) -> Iterator[Callable[[Sequence[Tensor]], list[Tensor]]]:
        """Order the ops of a `with` block. Yield a function for the block's results.

        At its end, the block must pass its results to this function, which returns copies of the
        results. The copies wait for the block's effects.
        """
        if self._outer is None:
            yield list
            return
        with AutomaticControlDependencies() as inner:

            def completed(tensors: Sequence[Tensor]) -> list[Tensor]:
                inner._advance()
                if not inner._effects:
                    return list(tensors)
                with self._graph.control_dependencies(list(inner._effects)):
                    return [raw_ops.Identity(tensor) for tensor in tensors]

            yield completed
        self._inner.append(inner)

    def finish(self, results: Sequence[Tensor]) -> None:
        """Record the finished branch or loop, which has these results, in the outer block."""
        if self._outer is not None and results:
            self._outer.adopt(self._inner, results[0].op)

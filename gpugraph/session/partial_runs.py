"""Partial runs, which are runs of the graph in several parts, as feeds arrive and fetches are
requested.

As in TensorFlow, the whole partial run is called a step. Each part runs all operations of the step
that its feeds make possible and that no earlier part has run. Therefore each operation runs only
once, including operations that change a variable or draw random numbers. A part is compiled and
cached in the same way as any run. Between two parts, the values that later parts need are kept on
the host, and later parts receive them as feeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import resource
from gpugraph.base.errors import CancelledError, OpError, UnimplementedError, invalid_argument
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.session.feed_conversion import (
    feed_array,
    feed_tensors,
    flatten_feed_keys,
    flatten_feeds,
    refuse_shape,
)
from gpugraph.session.fetch_structures import FetchPlan
from gpugraph.session.partial_run_graph import PartialRunGraph, is_in_each_part, variable_of
from gpugraph.session.session_backend import SessionBackend
from gpugraph.session.tensor_handles import plain_value, with_handles

_LIVES_AS_LONG_AS_A_RUN = ("TensorArray", "Stack")
"""Prefixes of the types of stateful ops that may run twice, because their state exists for one run
only.
"""


class PartialRun:
    """One step that runs in parts. It holds the values that later parts need.

    `is_fed` and `is_fetched` state, for each tensor of the step, whether a part has fed or fetched
    it. `values` has the fed and the computed tensors. `done` has the operations that have run.
    """

    def __init__(
        self,
        backend: SessionBackend,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
    ) -> None:
        """Set up a step. Raises InvalidArgumentError if there is nothing to compute, or if a tensor
        is both fed and fetched.
        """
        if not fetches and not targets:
            raise invalid_argument("Must specify at least one target to fetch or execute.")
        for tensor in fetches:
            if tensor in feeds:
                raise invalid_argument(f"{tensor.name} is both fed and fetched.")
        self.backend = backend
        self.lock = new_rlock()
        self.is_fed = dict.fromkeys(feeds, False)
        self.is_fetched = dict.fromkeys(fetches, False)
        self.targets = targets
        self.values: dict[Tensor, Any] = {}
        self.done: set[Operation] = set()
        self.failure: OpError | None = None
        roots = [*(tensor.op for tensor in fetches), *targets]
        self.graph = PartialRunGraph(self.is_fed, roots)

    @property
    def is_over(self) -> bool:
        """Whether all feeds have been fed and all fetches have been fetched."""
        return all(self.is_fed.values()) and all(self.is_fetched.values())

    def run(self, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any]) -> list[Any]:
        """Run one part. Feed these values, and return the values of these fetches."""
        with self.lock:
            if self.failure is not None:
                raise self.failure
            self._check_new(fetches, feeds)
            arrays = {tensor: feed_array(tensor, value).copy() for tensor, value in feeds.items()}
            for tensor, array in arrays.items():
                refuse_shape(tensor, array.shape)
            self._check_computable(fetches, arrays)
            try:
                self.values |= arrays
                self.is_fed |= dict.fromkeys(arrays, True)
                self._run_part(fetches)
            except BaseException as error:
                self._fail(error)
                raise
            self.is_fetched |= dict.fromkeys(fetches, True)
            results = [_copy(self.values[tensor]) for tensor in fetches]
            self._forget_values()
            return results

    def _check_new(self, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any]) -> None:
        kinds = ("feed", "fed", self.is_fed, feeds), ("fetch", "fetched", self.is_fetched, fetches)
        for kind, participle, known, tensors in kinds:
            for tensor in tensors:
                if tensor not in known:
                    raise invalid_argument(
                        f"The {kind} {tensor.name} was not specified in partial_run_setup."
                    )
                if known[tensor]:
                    raise invalid_argument(
                        f"The {kind} {tensor.name} has already been {participle}."
                    )

    def _check_computable(self, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any]) -> None:
        missing = [x for x, is_fed in self.is_fed.items() if not is_fed and x not in feeds]
        for tensor in missing:
            blocked = self.graph.blocked([tensor], by_group=False)
            if any(fetch.op in blocked for fetch in fetches):
                raise invalid_argument(
                    f"Fetch {tensor.name} can't be computed from the feeds that have been fed so "
                    "far."
                )

    def _fail(self, error: BaseException) -> None:
        """End the partial run because of an error, and drop all values. Later parts of the run
        raise the same error.
        """
        if isinstance(error, OpError):
            self.failure = error
        else:
            self.failure = CancelledError.of_no_node(
                f"Another part of this partial run has ended with {type(error).__name__}"
            )
        self.values.clear()

    def _run_part(self, fetches: Sequence[Tensor]) -> None:
        """Run all operations whose feeds are available and that have not run yet, and compute the
        fetches.
        """
        missing = [tensor for tensor, is_fed in self.is_fed.items() if not is_fed]
        blocked = self.graph.blocked(missing)
        ready = [op for op in self.graph.operations if op not in blocked]
        part = [op for op in ready if op not in self.done and not is_in_each_part(op)]
        self._compute(part, [tensor for tensor in fetches if is_in_each_part(tensor.op)])
        for tensor in fetches:
            if tensor not in self.values:
                self._compute_again(tensor, blocked)

    def _compute_again(self, tensor: Tensor, blocked: set[Operation]) -> None:
        """Compute a fetch in a group of operations although other operations of the group still
        lack feeds.

        The operations on which the tensor depends will run again with their group. Raises
        UnimplementedError if one of them has a lasting effect.
        """
        needed = self.graph.needed(tensor.op, self.done)
        part = [op for op in self.graph.operations if op in needed and not is_in_each_part(op)]
        for op in part:
            has_effect = op._op_def.is_stateful and not op.type.startswith(_LIVES_AS_LONG_AS_A_RUN)
            if op in blocked and has_effect:
                raise UnimplementedError(
                    op._record,
                    op,
                    f"'{op.name}' (made at {op.origin}) would run twice in one partial run: "
                    f"{tensor.name} shares a branch or loop with ops that need other feeds. Feed "
                    "them first.",
                )
        self._compute(part, [tensor], is_lasting=False)

    def _compute(
        self, part: Sequence[Operation], also: Sequence[Tensor], is_lasting: bool = True
    ) -> None:
        """Run the operations in `part`. Keep the values of `also`, and the values that later parts
        need.

        If `is_lasting` is False, keep only the values of `also`, because the operations will run
        again.
        """
        feeds: dict[Tensor, None] = {}
        connections: dict[Tensor, Tensor] = {}
        done: dict[Operation, None] = {}
        for op in part:
            for tensor in op._inputs:
                if tensor in self.values:
                    feeds[tensor] = None
                elif tensor.op in self.done:
                    connections[tensor] = variable_of(tensor)
            done |= dict.fromkeys(filter(self._has_run, op._control_inputs))
        lasting = frozenset(part if is_lasting else ())
        wanted = self._wanted(lasting, also)
        targets = [op for op in part if op in lasting and self._is_target(op, lasting)]
        if not targets and not wanted:
            return
        runner = self.backend.prepare(list(feeds), wanted, targets, connections, list(done))
        results = runner.run([feed_array(tensor, self.values[tensor]) for tensor in feeds])
        self.values |= zip(wanted, results)
        self.done |= lasting

    def _has_run(self, op: Operation) -> bool:
        return op in self.done or self.graph.arrival(op) is not None

    def _is_target(self, op: Operation, lasting: Collection[Operation]) -> bool:
        """Return whether the operation must run even if its values are not needed.

        This is the case if it is a target of the step, or if an operation of a later part reads its
        output or has it as a control input.
        """
        return op in self.targets or not all(x in lasting for x in self.graph.readers[op])

    def _wanted(self, lasting: Collection[Operation], also: Collection[Tensor]) -> Sequence[Tensor]:
        """Return the tensors to compute, which are the step's fetches, the inputs of later parts,
        and `also`.
        """
        new = [
            tensor
            for tensor, is_fetched in self.is_fetched.items()
            if not is_fetched and tensor not in self.values
        ]
        wanted = dict.fromkeys(tensor for tensor in new if tensor.op in lasting or tensor in also)
        for op in self.graph.operations:
            for tensor in op._outputs if op in lasting else ():
                if tensor._dtype.is_ref_dtype or tensor._dtype is resource:
                    continue
                if any(x in self.graph.readers and x not in lasting for x in tensor.consumers()):
                    wanted[tensor] = None
        return list(wanted)

    def _forget_values(self) -> None:
        """Drop the values that were fetched and that no remaining operation reads."""
        self.values = {
            tensor: value
            for tensor, value in self.values.items()
            if self.is_fetched.get(tensor) is False
            or any(x in self.graph.readers and x not in self.done for x in tensor.consumers())
        }


def _copy(value: Any) -> Any:
    """Return a copy of an array. Return NumPy scalars and tensor handles unchanged."""
    return value.copy() if isinstance(value, np.ndarray) else value


class PartialRuns:
    """The partial runs of a session, which are identified by handles."""

    def __init__(self, graph: Graph, backend: SessionBackend) -> None:
        self.graph = graph
        self.backend = backend
        self._runs: dict[str, PartialRun] = {}
        self._numbers = itertools.count(1)

    def setup(self, fetches: Any, feeds: Any) -> str:
        """Create a partial run and return its handle. A partial run without feeds and fetches runs
        immediately.

        Raises the errors of `Session.partial_run_setup`.
        """
        plan = FetchPlan(self.graph, fetches)
        fed = feed_tensors(self.graph, flatten_feed_keys(feeds))
        partial_run = PartialRun(self.backend, fed, plan.tensors, plan.targets)
        names = [",".join(x.name for x in x_list) for x_list in (fed, plan.tensors, plan.targets)]
        handle = f"{names[0]}->{names[1]}/{names[2]}/;{next(self._numbers)}"
        if partial_run.is_over:  # there is nothing to feed or to fetch later
            partial_run.run([], {})
        else:
            self._runs[handle] = partial_run
        return handle

    def run(self, handle: Any, fetches: Any, feed_dict: Mapping[Any, Any]) -> Any:
        """Run one part of a step, and return the values of its fetches. The last part ends the
        step.

        Raises the errors of `Session.partial_run`.
        """
        plan = FetchPlan(self.graph, fetches)
        if plan.targets:
            raise RuntimeError(
                "partial_run() requires empty target_list: operations run as soon as their "
                f"inputs have been fed. The fetches hold {plan.targets}"
            )
        keys, values = flatten_feeds(feed_dict)
        kept = self.backend.kept_tensors
        fed_values = zip(feed_tensors(self.graph, keys), values)
        feeds = {tensor: plain_value(tensor, value, kept) for tensor, value in fed_values}
        wanted = [tensor for tensor in plan.tensors if tensor not in feeds]
        results: dict[Tensor, Any] = {}
        if feeds or wanted:
            results = dict(zip(wanted, self._run(handle, wanted, feeds)))
        fed = {x: feed_array(x, feeds[x]) for x in plan.tensors if x in feeds}
        answers = [(fed if x in fed else results)[x] for x in plan.tensors]
        return plan.rebuild(with_handles(plan.tensors, answers, kept))

    def _run(
        self, handle: Any, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any]
    ) -> list[Any]:
        partial_run = self._runs.get(handle) if isinstance(handle, str) else None
        if partial_run is None:
            raise invalid_argument("Must run 'setup' before performing partial runs!")
        results = partial_run.run(fetches, feeds)
        if partial_run.is_over:
            self._runs.pop(handle, None)
        return results

    def clear(self) -> None:
        """Drop all partial runs."""
        self._runs.clear()

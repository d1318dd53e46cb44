"""DirectSession: compiles plans for this process's devices, keeps them, and runs them.

A runner (one set of feeds, fetches and targets) has a plan for each shape set it has met. When it
has met several, it makes one plan that leaves the varying sizes open, on dynamic memory, so that
ever new shapes never mean ever new plans. The session keeps a bounded number of plans, the least
recently made goes first.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from gpugraph.compile import FeedSpec, Target, compile_plan
from gpugraph.config import RunMetadata, RunOptions, SessionOptions
from gpugraph.devices import DeviceAttributes, DeviceFactory, Resources, no_gpu_reason
from gpugraph.errors import (
    AlreadyExistsError,
    CancelledError,
    InvalidArgumentError,
    OpError,
)
from gpugraph.graph.client import Graph
from gpugraph.graph.operation import Operation
from gpugraph.graph.tensor import Tensor
from gpugraph.plan import Plan, PlanKey
from gpugraph.runtime import Rendezvous, execute, execute_traced
from gpugraph.session.backend import Runner, SessionBackend
from gpugraph.session.explain import Explanation
from gpugraph.session.factory import SessionFactory
from gpugraph.session.feeds import refuse_shape

__all__ = ["DirectRunner", "DirectSession", "DirectSessionFactory"]

EXACT_PLANS = 8
"""Shape sets of one runner that get a plan of their own before sizes are left open."""

MOST_PLANS = 256
"""Plans that a session keeps."""

Shapes = tuple[tuple[int, ...], ...]


class DirectSession(SessionBackend):
    """A session on this process's devices."""

    def __init__(self, options: SessionOptions) -> None:
        self.options = options
        self.devices = DeviceFactory.add_devices(options, "/job:localhost/replica:0/task:0")
        self.resources = Resources()
        self.target = Target(
            self.devices,
            self.resources,
            options.config,
            no_gpu_reason(options),
            bool(os.environ.get("GPUGRAPH_VERIFY")),
            Rendezvous,
        )
        self.graph: Graph | None = None
        self.closed = False
        self.lock = threading.RLock()
        self.plans: OrderedDict[int, Plan] = OrderedDict()
        self._logged: set[str] = set()

    def create(self, graph: Graph) -> None:
        if self.graph is not None:
            raise AlreadyExistsError(
                None, None, "A Graph has already been created for this session."
            )
        self.graph = graph

    def prepare(
        self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation]
    ) -> DirectRunner:
        self.check_open()
        return DirectRunner(self, tuple(feeds), tuple(fetches), tuple(targets))

    def check_open(self) -> None:
        """CancelledError when closed, InvalidArgumentError before `create`."""
        if self.closed:
            raise CancelledError(None, None, "Session has been closed.")
        if self.graph is None:
            raise InvalidArgumentError(
                None, None, "Session was not created with a graph before Run()!"
            )

    def compile(
        self,
        key: PlanKey,
        feeds: Sequence[FeedSpec],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
    ) -> Plan:
        """A new plan, kept by the session; the oldest is given up when there are too many."""
        self.check_open()
        assert self.graph is not None
        plan = compile_plan(self.graph, self.target, key, feeds, fetches, targets)
        self.plans[id(plan)] = plan
        for state in plan.variables:
            state.watchers.append(_staler(plan))
        while len(self.plans) > MOST_PLANS:
            _, oldest = self.plans.popitem(last=False)
            oldest.release()
        if self.options.config.log_device_placement:
            self._log_placement(plan)
        return plan

    def drop(self, plan: Plan) -> None:
        """Forgets a plan that went stale."""
        if self.plans.pop(id(plan), None) is not None:
            plan.release()

    def _log_placement(self, plan: Plan) -> None:
        for placed in plan.placed:
            if placed.name not in self._logged:
                self._logged.add(placed.name)
                line = f"{placed.name}: ({placed.op_type}): {placed.device} - {placed.reason}"
                print(line, file=sys.stderr)

    def list_devices(self) -> list[DeviceAttributes]:
        self.check_open()
        return [device.attributes for device in self.devices]

    def memory_stats(self) -> dict[str, Any]:
        self.check_open()
        return {device.name: device.allocator.get_stats() for device in self.devices}

    def reset(self, containers: Sequence[str]) -> None:
        with self.lock:
            for plan in list(self.plans.values()):
                self.drop(plan)
            self.resources.clear(list(containers) or None)

    def close(self) -> None:
        with self.lock:
            if self.closed:
                return
            self.closed = True
            for plan in list(self.plans.values()):
                self.drop(plan)
            self.resources.clear()
            for device in self.devices:
                device.close()


def _staler(plan: Plan) -> Any:
    """What marks the plan stale, without keeping it alive."""
    reference = weakref.ref(plan)

    def mark() -> None:
        found = reference()
        if found is not None:
            found.stale = True

    return mark


class DirectRunner(Runner):
    """One set of feeds, fetches and targets, and its plans by the fed shapes."""

    def __init__(
        self,
        session: DirectSession,
        feeds: tuple[Tensor, ...],
        fetches: tuple[Tensor, ...],
        targets: tuple[Operation, ...],
    ) -> None:
        self.session = session
        self.feeds = feeds
        self.fetches = fetches
        self.targets = targets
        self.plans: dict[Shapes, Plan] = {}
        self.open_plan: Plan | None = None

    def run(self, values: Sequence[Any]) -> list[Any]:
        plan = self.plans.get(tuple([value.shape for value in values]))
        if plan is None or plan.stale:
            plan = self.plan_for(values)
        try:
            return execute(plan, values)
        except OpError as error:
            raise self._with_op(error) from error.__cause__

    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        chosen = options if options is not None else RunOptions()
        limit = chosen.timeout_in_ms or self.session.options.config.operation_timeout_in_ms
        plan = self.plan_for(values)
        trace = metadata is not None and chosen.trace_level != RunOptions.NO_TRACE
        try:
            results, stats = execute_traced(
                plan, values, trace, limit / 1000 if limit > 0 else None
            )
        except OpError as error:
            raise self._with_op(error) from error.__cause__
        if metadata is not None:
            metadata.step_stats = stats
            if chosen.output_partition_graphs:
                metadata.partition_graphs = list(plan.partitions().values())
        return results

    def explain(self, values: Sequence[Any]) -> Explanation:
        return Explanation(self.plan_for(values))

    def plan_for(self, values: Sequence[Any]) -> Plan:
        """The plan for values of these shapes, made now if there is none.

        ValueError for a shape that does not fit its tensor; else what compilation raises.
        """
        shapes: Shapes = tuple(value.shape for value in values)
        with self.session.lock:
            self.session.check_open()
            plan = self.plans.get(shapes)
            if plan is not None and not plan.stale:
                return plan
            for tensor, shape in zip(self.feeds, shapes):
                refuse_shape(tensor, shape)
            self._drop_stale()
            if len(self.plans) >= EXACT_PLANS:
                return self._open(shapes)
            self.plans[shapes] = plan = self._compile(shapes)
            return plan

    def _drop_stale(self) -> None:
        for shapes, plan in list(self.plans.items()):
            if plan.stale:
                del self.plans[shapes]
                self.session.drop(plan)

    def _open(self, shapes: Shapes) -> Plan:
        """The plan that leaves open every size that has varied."""
        plan = self.open_plan
        if plan is None or plan.stale or not _fits(plan, shapes):
            met = [*self.plans, shapes]
            if plan is not None:
                self.session.drop(plan)
                met.append(tuple(feed[1] for feed in plan.key.feeds))  # type: ignore[arg-type]
            plan = self.open_plan = self._compile(
                tuple(_common([each[index] for each in met]) for index in range(len(shapes)))
            )
        return plan

    def _compile(self, shapes: Sequence[tuple[int | None, ...] | None]) -> Plan:
        feeds = [
            FeedSpec(tensor.name, tensor.dtype.base_dtype, shape)
            for tensor, shape in zip(self.feeds, shapes)
        ]
        key = PlanKey(
            tuple((feed.name, feed.shape) for feed in feeds),
            tuple(tensor.name for tensor in self.fetches),
            tuple(op.name for op in self.targets),
        )
        try:
            return self.session.compile(key, feeds, self.fetches, self.targets)
        except OpError as error:
            raise self._with_op(error) from error.__cause__

    def _with_op(self, error: OpError) -> OpError:
        """The error with the client's operation, where its node is one."""
        name = getattr(error, "node_name", None) or getattr(error.node_def, "name", None)
        graph = self.session.graph
        op = graph._by_name.get(name) if graph is not None and name is not None else None
        if op is None or error.op is not None:
            return error
        if type(error) is OpError:
            return OpError(op.node_def, op, error.message, error.error_code)
        return type(error)(op.node_def, op, error.message)  # type: ignore[call-arg]


def _fits(plan: Plan, shapes: Shapes) -> bool:
    for (_, open_shape), shape in zip(plan.key.feeds, shapes):
        if open_shape is None:
            continue
        if len(open_shape) != len(shape):
            return False
        if any(size not in (None, given) for size, given in zip(open_shape, shape)):
            return False
    return True


def _common(shapes: Sequence[Any]) -> tuple[int | None, ...] | None:
    """What all shapes have in common; None when their ranks differ."""
    first = shapes[0]
    if first is None or any(each is None or len(each) != len(first) for each in shapes):
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes))


class DirectSessionFactory:
    """Accepts the empty target."""

    def accepts_options(self, options: SessionOptions) -> bool:
        return options.target == ""

    def new_session(self, options: SessionOptions) -> DirectSession:
        return DirectSession(options)


SessionFactory.register("DIRECT_SESSION", DirectSessionFactory())

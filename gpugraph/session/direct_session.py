"""DirectSession: compiles plans for this process's devices, keeps them, and runs them.

A runner (one set of feeds, fetches and targets) has a plan for each shape set it has met. When it
has met several, it makes one plan that leaves the varying sizes open, on dynamic memory, so that
ever new shapes never mean ever new plans. The session keeps its runners, however often they are
asked for, and a bounded number of plans (see `plans`). When a device is full, plans that nobody
runs give their memory up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from gpugraph.base.errors import AlreadyExistsError, CancelledError, OpError, invalid_argument
from gpugraph.compile import FeedSpec, Target, compile_plan, partition_texts
from gpugraph.config import RunMetadata, RunOptions, SessionOptions
from gpugraph.config.experimental import watch
from gpugraph.devices import DeviceAttributes, DeviceFactory, Resources, no_gpu_reason
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.plan import Plan, PlanKey
from gpugraph.runtime import Rendezvous, StepStats, execute, execute_traced
from gpugraph.runtime.step_failure import same_kind
from gpugraph.session.explanation import Explanation
from gpugraph.session.feed_conversion import refuse_shape
from gpugraph.session.open_plan_shapes import fits, in_common
from gpugraph.session.plan_cache import Kept, PlanStore, wait_for
from gpugraph.session.session_backend import Runner, SessionBackend
from gpugraph.session.session_factory import SessionFactory

EXACT_PLANS = 8
"""Shape sets of one runner that get a plan of their own before sizes are left open."""

MOST_PLANS = 256
"""Plans that a session keeps."""

Shapes = tuple[tuple[int, ...], ...]

_shape = attrgetter("shape")

PLAN_LISTENERS: list[Callable[[Explanation], None]] = []
"""Called with each new plan's explanation: how the command line tells of a program's plans."""


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
        self.plans = PlanStore(MOST_PLANS)
        self.lock = self.plans.lock
        self.runners: dict[Any, DirectRunner] = {}
        self._logged: set[str] = set()
        for device in self.devices:
            device.reclaim = self._reclaim
        watch(self)

    def settings_changed(self) -> None:
        """Gives up all plans for GPUs with kernels: products in them are as was allowed then."""
        if any(device.has_kernels for device in self.devices):
            with self.lock:
                self.plans.drop_all()

    def _reclaim(self) -> None:
        """Gives up idle plans, and the constants that only they used."""
        self.plans.drop_idle()
        self.resources.release_unused()

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
        key = (tuple(feeds), tuple(fetches), tuple(targets))
        with self.lock:
            runner = self.runners.get(key)
            if runner is None:
                if len(self.runners) >= 2 * MOST_PLANS:
                    self.runners = {key: each for key, each in self.runners.items() if each.plans}
                runner = self.runners[key] = DirectRunner(self, *key)
            return runner

    def check_open(self) -> None:
        """CancelledError when closed, InvalidArgumentError before `create`."""
        if self.closed:
            raise CancelledError(None, None, "Session has been closed.")
        if self.graph is None:
            raise invalid_argument("Session was not created with a graph before Run()!")

    def compile(
        self,
        key: PlanKey,
        feeds: Sequence[FeedSpec],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
    ) -> Plan:
        """A new plan. Idle ones are given up for it where a device is full."""
        self.check_open()
        assert self.graph is not None
        plan = compile_plan(self.graph, self.target, key, feeds, fetches, targets)
        if self.options.config.log_device_placement:
            self._log_placement(plan)
        for listener in PLAN_LISTENERS:
            listener(Explanation(plan))
        return plan

    def _log_placement(self, plan: Plan) -> None:
        for placed in plan.placements:
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
            plans = self.plans.drop_all()
        wait_for(plans)
        self.resources.clear(list(containers) or None)

    def close(self) -> None:
        with self.lock:
            if self.closed:
                return
            self.closed = True
            plans = self.plans.drop_all()
            self.runners.clear()
        for plan in plans:
            plan.clock.cancel()  # a loop may be running, and may have no end
        wait_for(plans)
        self.resources.clear()
        for device in self.devices:
            device.close()


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
        self.plans: dict[Shapes, Kept] = {}
        self.open_plan: Kept | None = None
        self.limit_ms = session.options.config.operation_timeout_in_ms

    def run(self, values: Sequence[Any]) -> list[Any]:
        if self.limit_ms > 0:
            return self._run_traced(values, False, self.limit_ms)[0]
        kept = self.plans.get(tuple(map(_shape, values)))
        while True:
            if kept is None:
                kept = self.plan_for(values)
            plan = kept.plan
            with plan.lock:
                if plan.running:
                    return self._run_within(values, False, self.limit_ms)[0]
                if not plan.stale:
                    try:
                        return execute(plan, values)
                    except OpError as error:
                        raise self._with_op(error) from error.__cause__
            kept = None

    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        chosen = options if options is not None else RunOptions()
        if chosen.inter_op_thread_pool not in (-1, 0):
            raise invalid_argument(
                f"Invalid inter_op_thread_pool: {chosen.inter_op_thread_pool}. There is 0, the "
                "session's, and -1, the calling thread"
            )
        trace = metadata is not None and chosen.trace_level != RunOptions.NO_TRACE
        limit = chosen.timeout_in_ms or self.limit_ms
        results, stats, plan = self._run_traced(values, trace, limit)
        if metadata is not None:
            metadata.step_stats = stats
            if chosen.output_partition_graphs:
                metadata.partition_graphs = list(self._partition_texts(plan.key).values())
        return results

    def _run_traced(
        self, values: Sequence[Any], trace: bool, limit_ms: int
    ) -> tuple[list[Any], StepStats | None, Plan]:
        """The fetches' values, the statistics asked for, and the plan that ran."""
        while True:
            plan = self.plan_for(values).plan
            with plan.lock:
                if plan.running:
                    return self._run_within(values, trace, limit_ms)
                if not plan.stale:
                    return self._execute_traced(plan, values, trace, limit_ms)

    def _run_within(
        self, values: Sequence[Any], trace: bool, limit_ms: int
    ) -> tuple[list[Any], StepStats | None, Plan]:
        """A run by a kernel of the same plan's run: on a plan of its own, made for it alone."""
        with self.session.lock:
            plan = self._compile(tuple(map(_shape, values)))
        try:
            return self._execute_traced(plan, values, trace, limit_ms)
        finally:
            plan.release()

    def _execute_traced(
        self, plan: Plan, values: Sequence[Any], trace: bool, limit_ms: int
    ) -> tuple[list[Any], StepStats | None, Plan]:
        try:
            limit_s = limit_ms / 1000 if limit_ms > 0 else None
            return *execute_traced(plan, values, trace, limit_s), plan
        except OpError as error:
            raise self._with_op(error) from error.__cause__

    def explain(self, values: Sequence[Any]) -> Explanation:
        return Explanation(self.plan_for(values).plan)

    def plan_for(self, values: Sequence[Any]) -> Kept:
        """The plan for values of these shapes, made now if there is none.

        ValueError for a shape that does not fit its tensor; else what compilation raises.
        """
        shapes: Shapes = tuple(map(_shape, values))
        with self.session.lock:
            self.session.check_open()
            kept = self.plans.get(shapes)
            if kept is not None and not kept.plan.stale:
                return kept
            for tensor, shape in zip(self.feeds, shapes):
                refuse_shape(tensor, shape)
            for kept in [each for each in self.plans.values() if each.plan.stale]:
                self.session.plans.drop(kept)
            if len(self.plans) >= EXACT_PLANS:
                return self._open(shapes)
            plan = self._compile(shapes)
            kept = self.session.plans.add(plan, lambda: self.plans.pop(shapes, None))
            self.plans[shapes] = kept
            return kept

    def _open(self, shapes: Shapes) -> Kept:
        """The plan that leaves open every size that has varied."""
        kept = self.open_plan
        if kept is not None and not kept.plan.stale and fits(kept.plan.key, shapes):
            return kept
        met: list[Any] = [*self.plans, shapes]
        if kept is not None:
            met.append(tuple(shape for _, shape in kept.plan.key.feeds))
            self.session.plans.drop(kept)
        plan = self._compile(
            tuple(in_common([each[index] for each in met]) for index in range(len(shapes)))
        )
        self.open_plan = self.session.plans.add(plan, self._forget_open)
        return self.open_plan

    def _forget_open(self) -> None:
        self.open_plan = None

    def _partition_texts(self, key: PlanKey) -> dict[str, str]:
        """The parts of the graph that the plan of `key` runs, by device."""
        session = self.session
        assert session.graph is not None
        feeds = self._specs([shape for _, shape in key.feeds])
        with session.lock:
            return partition_texts(
                session.graph, session.target, key, feeds, self.fetches, self.targets
            )

    def _specs(self, shapes: Sequence[tuple[int | None, ...] | None]) -> list[FeedSpec]:
        return [
            FeedSpec(tensor.name, tensor.dtype.base_dtype, shape)
            for tensor, shape in zip(self.feeds, shapes)
        ]

    def _compile(self, shapes: Sequence[tuple[int | None, ...] | None]) -> Plan:
        feeds = self._specs(shapes)
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
        return same_kind(error, op.node_def, op, error.message)


class DirectSessionFactory:
    """Accepts the empty target."""

    def accepts_options(self, options: SessionOptions) -> bool:
        return options.target == ""

    def new_session(self, options: SessionOptions) -> DirectSession:
        return DirectSession(options)


SessionFactory.register("DIRECT_SESSION", DirectSessionFactory())

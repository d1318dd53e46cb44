"""The plans of one runner, and the search for the plan that fits the shapes of its feeds.

    exact    a plan for one set of shapes
    opened   an open plan, for all sets of shapes for which a unit is valid. It exists once the
             steps have their final code (`compile/binding/open_plan.py`)
    open     a plan for all shapes without a unit. It exists after several exact plans, leaves the
             varying sizes open, and allocates tensors during a run

The number of plans therefore does not grow with new shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.compile import OpenUnit
from gpugraph.devices import RunMemory
from gpugraph.plan import Plan, PlanKey, TimeLimit
from gpugraph.session.open_shapes import OpenShapes, UnitForShapes
from gpugraph.session.plan_cache import CachedPlan, PlanCache
from gpugraph.session.room_for_open_sizes import RoomForOpenSizes, Shapes

EXACT_PLANS = 8
"""The maximum number of plans for exact shapes that a runner compiles before it compiles a plan
with open sizes.
"""

MOST_SHAPES = 4096
"""The maximum number of sets of shapes for which a runner remembers the plan."""

_MOST_MISSES = 16
"""The number of runs that a unit with loops may begin in vain, if these are not few of its runs."""

OpenShape = tuple[int | None, ...] | None
"""A feed's shape in a plan: None for sizes, or ranks, that are known only in each run."""

_ITS_RUNNERS = "runs of these fetches time-share this memory, since others ran at the same time"
_BESIDE = "only this plan uses this memory, since runs overlapped"


class RunnerPlans:
    """The plans of one runner: `exact` by the shapes of the feeds, and `open` for all other shapes.

    The caller of a method must hold the cache's lock, except for `drop_idle_spares` and
    `move_off_contended_memory`.

    Args:
      compile_plan: a function that compiles a plan in a run memory. None in feed shapes means an
        open size.
      memory: the run memory that all plans of the session share.
    """

    def __init__(
        self,
        cache: PlanCache,
        compile_plan: Callable[[Sequence[OpenShape], RunMemory, UnitForShapes | None], Plan],
        memory: RunMemory,
    ) -> None:
        self._cache = cache
        self._compile_plan = compile_plan
        self._memories = [memory, RunMemory(_ITS_RUNNERS, cache.drop_in)]
        self._exact_shapes: dict[Shapes, None] = {}
        self._unfit: set[Shapes] = set()
        self.returning: set[Shapes] = set()  # of the next run only, apart
        self._apart: dict[Shapes, CachedPlan] = {}  # plans beside an open one
        self._misses: dict[OpenUnit, int] = {}  # of units with loops, runs that did not fit
        self._waiting: list[CachedPlan] = []  # plans that run once they are opened
        self._awaited: list[OpenUnit] = []  # their units, and those without memory for one
        self.exact: dict[Shapes, CachedPlan] = {}
        self.spares: dict[PlanKey, list[CachedPlan]] = {}
        self.open: CachedPlan | None = None
        self.room: RoomForOpenSizes | None = None
        self.open_shapes: OpenShapes | None = None

    def find(self, shapes: Shapes) -> CachedPlan | None:
        """Return the plan for exactly these shapes. Return None if these shapes have no plan, or if
        the plan is stale.
        """
        cached = self.exact.get(shapes)
        return None if cached is None or cached.plan.stale else cached

    def add(self, shapes: Shapes) -> CachedPlan:
        """Compile and return a plan for new shapes. After several plans for exact shapes, the plan
        has open sizes.
        """
        for stale in [cached for cached in self.exact.values() if cached.plan.stale]:
            self._cache.drop(stale)
        unit = (
            None if self.open_shapes is None else self.open_shapes.find(shapes, *self._reported())
        )
        if unit is not None and shapes not in self._unfit:
            opened = self._opened(unit)
            if opened is not None:
                if len(self.exact) >= MOST_SHAPES:
                    self._forget_shapes(opened.plan)
                self.exact[shapes] = opened
                return opened
        if unit is not None and unit.unit.reports is not None:
            unit = None  # its plan can't run until it is opened
        is_known = unit is not None or shapes in self._exact_shapes
        if not is_known and len(self._exact_shapes) >= EXACT_PLANS:
            return self._add_open(shapes)
        plan = self._compile(shapes, unit)
        if unit is None:
            self._exact_shapes[shapes] = None

        def forget() -> None:
            self._forget_shapes(plan)

        cached = self.exact[shapes] = self._cache.add(plan, forget)
        return cached

    def _reported(self) -> tuple[dict[str, int], Shapes | None]:
        """Return the sizes that kernels have reported in a run of a plan for one set of shapes, and
        these shapes.
        """
        usable: tuple[dict[str, int], Shapes | None] = {}, None
        for shapes, cached in self.exact.items():
            if len(cached.plan.reported) > len(usable[0]):
                usable = cached.plan.reported, shapes
        return usable

    def promote(self, shapes: Shapes) -> None:
        """If a plan in which the reported sizes are open is ready, let it replace the plan of these
        shapes.
        """
        self.returning.discard(shapes)
        cached = self.exact.get(shapes)
        if cached is None or cached.plan.sizes is not None or self.open_shapes is None:
            return
        unit = self.open_shapes.find(shapes, cached.plan.reported, is_last=True)
        if unit is None or unit.unit.reports is None or shapes in self._unfit:
            cached.plan.reported = {}  # do not try again
            return
        opened = self._opened(unit)
        if opened is not None:
            self.exact[shapes] = opened
            self._apart[shapes] = cached

    def run_apart(self, shapes: Shapes, reported: Mapping[str, int]) -> None:
        """Make the next run of these shapes use another plan. If the reported sizes meet the
        conditions of another open plan, this plan is used. Otherwise the other plan allocates
        tensors in the run.
        """
        if self._found_other(shapes, reported):
            return
        self.returning.add(shapes)
        self._count_miss(self.exact.get(shapes))
        cached = self._apart.pop(shapes, None)
        if cached is None or cached.plan.stale:
            plan = self._compile(shapes)
            cached = self._cache.add(plan, partial(self._forget_shapes, plan))
        self.exact[shapes] = cached

    def _count_miss(self, cached: CachedPlan | None) -> None:
        """Count a run that had to begin again with a plan apart. If the sizes in the loops of a
        unit often do not fit, the unit is given up.
        """
        opening = None if cached is None else cached.plan.opening
        reports = None if opening is None else opening.unit.reports
        if cached is not None and opening is not None and reports is not None and reports.loop_ends:
            misses = self._misses.get(opening.unit, 0) + 1
            if misses < _MOST_MISSES or 4 * misses > cached.plan.runs:
                self._misses[opening.unit] = misses

    def _found_other(self, shapes: Shapes, reported: Mapping[str, int]) -> bool:
        """If the reported sizes meet the conditions of another open plan, make the next run of
        these shapes use that plan. Return whether there is such a plan.
        """
        before = self.exact.get(shapes)
        if self.open_shapes is None or before is None or not reported:
            return False
        unit = self.open_shapes.find(shapes, reported)
        inputs = None if unit is None else unit.fed.of([size for shape in shapes for size in shape])
        if unit is None or inputs is None or unit.unit.at(inputs, reported) is None:
            return False
        opened = None if unit.unit is before.plan.opening.unit else self._opened(unit)
        if opened is None:
            return False
        self.exact[shapes] = opened
        return True

    def refuse(self, shapes: Shapes) -> None:
        """Make runs of these shapes use a separate plan, because the shapes do not fit the open
        plan that they used.
        """
        if len(self._unfit) >= MOST_SHAPES:
            self._unfit.clear()
        self._unfit.add(shapes)
        self.exact.pop(shapes, None)

    def compile_again(self, plan: Plan) -> None:
        """Make the next runs use newly compiled plans instead of `plan`."""
        plan.stale = True
        if self.open_shapes is not None:
            self.open_shapes.forget_units()

    def key_of(self, plan: Plan, shapes: Shapes) -> PlanKey:
        """Return the key of a plan for these shapes."""
        if plan.sizes is None:
            return plan.key
        names = [name for name, _ in plan.key.feeds]
        return plan.key._replace(feeds=tuple(zip(names, shapes)))

    def _forget_shapes(self, plan: Plan) -> None:
        for shapes in [shapes for shapes, cached in self.exact.items() if cached.plan is plan]:
            del self.exact[shapes]

    def _opened(self, unit: UnitForShapes) -> CachedPlan | None:
        """Return the plan that runs all shapes of a unit. If the unit has no such plan yet, return
        None.
        """
        if unit.unit.reports is not None:
            self._await_opening(unit)
            if self._misses.get(unit.unit, 0) >= _MOST_MISSES:
                return None
        candidates = (*self.exact.values(), *self._waiting)
        distinct = {id(cached.plan): cached for cached in candidates}
        plans = [
            cached
            for cached in distinct.values()
            if cached.plan.opening is not None and cached.plan.opening.unit is unit.unit
        ]
        for cached in plans:
            if cached.plan.sizes is not None and not cached.plan.stale:
                return cached
        for cached in plans:
            if not cached.plan.stale and self._open(cached.plan, unit):
                for other in plans:
                    if other is not cached:
                        self._cache.drop(other)
                return cached
        return None

    def _await_opening(self, unit: UnitForShapes) -> None:
        """Bind a unit for the sizes with which it was compiled, so that the resulting plan can be
        opened later. Later calls do nothing.
        """
        if unit.unit in self._awaited:
            return
        self._awaited.append(unit.unit)
        values = unit.unit.first_values
        try:
            plan = self._compile(unit.unit.shapes_of(values), unit._replace(values=values))
        except ResourceExhaustedError:
            return

        def forget() -> None:
            self._waiting[:] = [cached for cached in self._waiting if cached.plan is not plan]
            self._awaited.remove(unit.unit)
            self._forget_shapes(plan)

        self._waiting.append(self._cache.add(plan, forget))

    def _open(self, plan: Plan, unit: UnitForShapes) -> bool:
        """Make a plan accept all shapes of its unit. Return False if the plan is busy, or if it
        cannot accept these shapes.
        """
        if not plan.lock.acquire(blocking=False):
            return False
        try:
            is_idle = not plan.running
            return is_idle and plan.opening.open(plan, unit.fed, self._cache.lock)
        finally:
            plan.lock.release()

    def _add_open(self, shapes: Shapes) -> CachedPlan:
        """Return a plan in which each size that has varied so far is open. Compile it if necessary.

        Raises ResourceExhaustedError if the GPUs have too little memory for a run of these shapes
        (`room`).
        """
        if self.room is not None:
            self.room.check(shapes)
        cached = self.open
        if cached is not None and not cached.plan.stale and _fits(cached.plan.key, shapes):
            return cached
        shape_sets: list[Sequence[OpenShape]] = [*self._exact_shapes, shapes]
        if cached is not None:
            shape_sets.append([shape for _, shape in cached.plan.key.feeds])
            self._cache.drop(cached)
        plan = self._compile([_common_shape(feed_shapes) for feed_shapes in zip(*shape_sets)])

        def forget() -> None:
            if self.open is not None and self.open.plan is plan:
                self.open = None

        self.open = self._cache.add(plan, forget)
        return self.open

    def add_spare(self, key: PlanKey) -> CachedPlan:
        """Compile and add a replica of the plan with this key."""
        shapes = [shape for _, shape in key.feeds]
        unit = None
        if self.open_shapes is not None and not any(
            shape is None or None in shape for shape in shapes
        ):
            unit = self.open_shapes.find(tuple(shapes))  # type: ignore[arg-type]
        if unit is not None and unit.unit.reports is not None:
            unit = None  # a plan for one set of shapes
        plan = self._compile_plan(shapes, RunMemory(_BESIDE), unit)
        spares = self.spares.setdefault(key, [])

        def forget() -> None:
            spares[:] = [spare for spare in spares if spare.plan is not plan]

        spares.append(self._cache.add(plan, forget))
        return spares[-1]

    def drop_idle_spares(self, running: Plan) -> None:
        """Drop the replicas that no run holds, except for `running`, and free their memory.

        While another thread holds the cache's lock, do nothing.
        """
        if not self.spares or not self._cache.lock.acquire(blocking=False):
            return
        try:
            for spare in [spare for spares in self.spares.values() for spare in spares]:
                if spare.plan is not running and spare.plan.lock.acquire(blocking=False):
                    try:
                        if not spare.plan.running:
                            self._cache.drop(spare)
                    finally:
                        spare.plan.lock.release()
            self.spares = {key: spares for key, spares in self.spares.items() if spares}
        finally:
            self._cache.lock.release()

    def move_off_contended_memory(self, cached: CachedPlan, limit: TimeLimit | None) -> bool:
        """Drop a plan if a run of another plan is using its memory. The plan that replaces it uses
        different memory.

        Return whether the plan was dropped. It is not dropped if its memory is free, or if the plan
        itself is running.
        """
        plan = cached.plan
        if plan.stale or not plan.lock.acquire(blocking=False):
            return False
        is_beside = not plan.running and bool(plan.holder)
        plan.lock.release()
        if is_beside:
            with self._cache.locked(limit):
                if plan.memory in self._memories:
                    self._memories.remove(plan.memory)
                self._cache.drop(cached)
                plan.memory.trim()
        return is_beside

    def _compile(self, shapes: Sequence[OpenShape], unit: UnitForShapes | None = None) -> Plan:
        """Compile a plan for memory that no run is currently using."""
        while self._memories and self._memories[0].holder:
            del self._memories[0]
        return self._compile_plan(shapes, (*self._memories, RunMemory(_BESIDE))[0], unit)


def _fits(key: PlanKey, shapes: Shapes) -> bool:
    """Return whether the plan with this key can run with fed values of these shapes."""
    return all(
        open_shape is None
        or (
            len(open_shape) == len(shape)
            and all(size in (None, fed_size) for size, fed_size in zip(open_shape, shape))
        )
        for (_, open_shape), shape in zip(key.feeds, shapes)
    )


def _common_shape(shapes: Sequence[OpenShape]) -> OpenShape:
    """Return a shape that covers all these shapes, with None for sizes that differ. If the ranks
    differ, return None.
    """
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known))

"""Compilation with open sizes, which produces units for a runner whose feeds vary in shape.

For the first set of shapes, the graph is compiled for exactly these shapes. From the second set on,
the sizes that have differed so far are left open (`base/sizes`). The passes then run once for many
sets of shapes, and each set only needs binding. A unit is valid for the sets of shapes that meet
its conditions (such as "more than one row"). Other sets need another unit. If the runner has too
many units, further sets of shapes are compiled to exact plans. This also happens if the sizes of
many tensors depend on values, because a unit then saves little time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.errors import OpError
from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.sizes import FedSizes, SizeTrace, SizeValues
from gpugraph.compile import NotReportedError, OpenUnit
from gpugraph.session.room_for_open_sizes import Shapes

_LOG = logging.getLogger("gpugraph")

MAX_UNITS = 8
"""The maximum number of units that a runner has for feeds of the same ranks."""

_MAX_REPORTING = 3
"""The number of units with reported sizes from which on no other is compiled because the sizes that
kernels report do not meet its conditions, such as "more than one row".
"""


class UnitForShapes(NamedTuple):
    """A unit that is valid for a set of shapes, and the values of its open sizes for these
    shapes.

    Args:
      fed: how the sizes of the feeds determine the open sizes.
    """

    unit: OpenUnit
    values: SizeValues
    fed: FedSizes


class _OpenFeeds(NamedTuple):
    """A unit, and how the sizes of the feeds determine its open sizes."""

    unit: OpenUnit
    fed: FedSizes

    def at(
        self, sizes: Sequence[int], reported: Mapping[str, int] | None = None
    ) -> SizeValues | None:
        """Return the values of the unit's open sizes, or None if the unit is not valid for these
        sizes.

        Args:
          sizes: the fed sizes.
          reported: the sizes that kernels have reported, by default those with which the unit was
            compiled.
        """
        inputs = self.fed.of(sizes)
        return None if inputs is None else self.unit.at(inputs, reported)


class OpenShapes:
    """The units of one runner.

    Args:
      compile_open: a function that receives shapes with open sizes (`Size`) and the `SizeTrace` to
        which these sizes belong, and compiles a unit.
      is_strict: whether to raise errors that ops or passes raise only because sizes are open.
        Otherwise these errors are logged, and exact plans are compiled.
    """

    def __init__(
        self,
        compile_open: Callable[[Sequence[tuple[Any, ...]], SizeTrace], OpenUnit],
        is_strict: bool,
    ) -> None:
        self._compile_open = compile_open
        self._is_strict = is_strict
        self._first: dict[tuple[int, ...], list[int]] = {}  # fed sizes by ranks
        self._varying: dict[tuple[int, ...], set[int]] = {}
        self._units: dict[tuple[int, ...], list[_OpenFeeds]] = {}
        self._exact_only: set[tuple[int, ...]] = set()  # ranks for which no unit is compiled

    def forget_units(self) -> None:
        """Forget the units, so that the next sets of shapes need new ones."""
        self._units.clear()

    def find(
        self,
        shapes: Shapes,
        reported: Mapping[str, int] | None = None,
        reporting: Shapes | None = None,
        is_last: bool = False,
    ) -> UnitForShapes | None:
        """Return a unit for a set of shapes. Return None if no size has varied and no size was
        reported so far, or if there would be too many units.

        Args:
          reported: the sizes that kernels have reported in an earlier run, by name.
          reporting: the shapes of the feeds in that run, if they differ from `shapes`.
          is_last: whether that run was the last run with these shapes. If so, the unit must also be
            valid for the reported sizes. This has no effect if no size depends on values, or if
            there are too many units with reported sizes.
        """
        ranks = tuple(map(len, shapes))
        sizes = [size for shape in shapes for size in shape]
        first = self._first.setdefault(ranks, sizes)
        varying = self._varying.setdefault(ranks, set())
        varying.update(i for i, (one, other) in enumerate(zip(first, sizes)) if one != other)
        if not varying and not reported:
            return None
        units = self._units.setdefault(ranks, [])
        is_last &= sum(candidate.unit.reports is not None for candidate in units) < _MAX_REPORTING
        fitting = [candidate for candidate in units if candidate.at(sizes) is not None]
        if reported:
            checked = [
                candidate
                for candidate in fitting
                if not candidate.unit.reports or candidate.at(sizes, reported) is not None
            ]
            fitting = checked if is_last else [*checked, *fitting]
        if fitting:
            units.remove(fitting[0])
            units.insert(0, fitting[0])
            values = fitting[0].at(sizes)
            assert values is not None
            return UnitForShapes(fitting[0].unit, values, fitting[0].fed)
        if len(units) >= MAX_UNITS or ranks in self._exact_only:
            return None
        try:
            compiled = self._compiled(shapes, reporting or shapes, varying, dict(reported or {}))
        except OpError:
            return None  # compiling exactly these shapes raises it in TensorFlow's words
        except Exception as error:
            if self._is_strict or raised_by_handler(error):
                raise
            self._exact_only.add(ranks)
            _LOG.warning(
                "Each set of shapes is compiled by itself: %s: %s", type(error).__name__, error
            )
            return None
        if not compiled.unit.is_worth_binding:
            self._exact_only.add(ranks)
            return None
        units.insert(0, compiled)
        values = compiled.at(sizes)
        return None if values is None else UnitForShapes(compiled.unit, values, compiled.fed)

    def _compiled(
        self, shapes: Shapes, reporting: Shapes, varying: set[int], reported: Mapping[str, int]
    ) -> _OpenFeeds:
        """Compile a unit in which the varying sizes are open. If possible, the reported sizes are
        open too.

        Args:
          reporting: the shapes of the feeds in the run that reported the sizes. If the reported
            sizes contradict `shapes`, the passes use `reporting` for their estimates.
        """
        try:
            try:
                return self._compile(shapes, shapes, varying, reported)
            except OpError:
                if reporting == shapes:
                    raise
                return self._compile(shapes, reporting, varying, reported)
        except NotReportedError as error:
            _LOG.debug("Sizes by values are not open: %s", error)
        return self._compile(shapes, shapes, varying, None)

    def _compile(
        self, shapes: Shapes, first: Shapes, varying: set[int], reported: Mapping[str, int] | None
    ) -> _OpenFeeds:
        """Compile a unit in which the varying sizes are open. Sizes that are equal to each other in
        both sets of shapes become a single input of the size trace.

        Args:
          first: the shapes with which the passes estimate and compare sizes.
          reported: the reported sizes. If it is None, reported sizes must not be open.
        """
        sizes = [size for shape in shapes for size in shape]
        hints = [size for shape in first for size in shape]
        inputs: dict[tuple[int, int], list[int]] = {}
        for position in sorted(varying):
            inputs.setdefault((hints[position], sizes[position]), []).append(position)
        trace = SizeTrace([hint for hint, _ in inputs], reported)
        mixed: list[Any] = list(sizes)
        for size, positions in zip(trace.sizes, inputs.values()):
            for position in positions:
                mixed[position] = size
        remaining = iter(mixed)
        open_shapes = [tuple([next(remaining) for _ in shape]) for shape in shapes]
        unit = self._compile_open(open_shapes, trace)
        closed = {i: size for i, size in enumerate(sizes) if i not in varying}
        return _OpenFeeds(unit, FedSizes(list(inputs.values()), closed))

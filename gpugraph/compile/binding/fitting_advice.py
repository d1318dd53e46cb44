"""Advice: changes that make a step fit the memory of a device.

The step is recompiled with each change, up to the planning of its arena: the advice states planned
sizes, not estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpugraph.base.errors import OpError
from gpugraph.compile.rewriting.activation_recomputation import ALL, CHEAP
from gpugraph.compile.unit.compile_unit import RunRequest, Target, Unit
from gpugraph.memory import human_readable_bytes

_MAX_TRIALS = 6
"""The maximum number of batch sizes that are compiled."""

_DEGREES = {CHEAP: "", ALL: " and recomputation_limit_mb = 1"}
"""Degrees of recomputation, and the additional settings that request them."""

Compile = Callable[..., Unit]
"""Compiles a request for a target; a degree of recomputation may follow."""


def advice(
    compiled: Compile, target: Target, request: RunRequest, device: str, available: int
) -> Sequence[str]:
    """Return changes that make the step fit, one per line; empty if none is known."""
    return [
        *_recomputation(compiled, target, request, device, available),
        *_smaller_batch(compiled, target, request, device, available),
    ]


def _recomputation(
    compiled: Compile, target: Target, request: RunRequest, device: str, available: int
) -> Iterator[str]:
    """Yield the lowest degree of recomputation with which the step fits."""
    for degree, fields in _DEGREES.items():
        try:
            unit = compiled(target, request, degree)
        except (OpError, ValueError):
            return
        size = unit.arena_sizes.get(device, 0)
        if size <= available:
            yield (
                "with rewrite_options.memory_optimization = RECOMPUTATION_HEURISTICS"
                f"{fields}: {human_readable_bytes(size)}"
            )
            return


def _smaller_batch(
    compiled: Compile, target: Target, request: RunRequest, device: str, available: int
) -> Iterator[str]:
    """Yield the maximum number of rows with which the step fits, if all feeds have equally many."""
    rows = _common_rows(request)
    if rows < 2:
        return
    fits, beyond, size = 0, rows, 0
    trial = rows // 2
    for _ in range(_MAX_TRIALS):
        try:
            needed = compiled(target, _with_rows(request, trial)).arena_sizes.get(device, 0)
        except (OpError, ValueError):  # other parts of the program fix the number of rows
            return
        if needed <= available:
            fits, size = trial, needed
        else:
            beyond = trial
        if beyond - fits < 2:
            break
        guess = int(trial * available / max(needed, 1))
        trial = min(max(guess, fits + 1), beyond - 1)
    if fits:
        names = ", ".join(feed.name for feed in request.feeds if feed.shape)
        yield f"with {fits} rows instead of {rows} in {names}: {human_readable_bytes(size)}"


def _common_rows(request: RunRequest) -> int:
    """Return the common number of rows of all feeds except scalars; 0 if they differ."""
    rows = {feed.shape[0] for feed in request.feeds if feed.shape}
    (count,) = rows if len(rows) == 1 else (0,)
    return count or 0


def _with_rows(request: RunRequest, rows: int) -> RunRequest:
    feeds = [
        feed._replace(shape=(rows, *feed.shape[1:])) if feed.shape else feed
        for feed in request.feeds
    ]
    return request._replace(feeds=feeds)

"""Advice: what would make a step fit the memory that a device has.

The step is compiled again as it would be then, up to where its arena is known: a piece of advice is
a size that was planned, not an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpugraph.base.errors import OpError
from gpugraph.compile.rewriting.activation_recomputation import ALL, CHEAP
from gpugraph.compile.unit.compile_unit import RunRequest, Target, Unit
from gpugraph.memory import human_readable_bytes

_MOST_TRIALS = 6
"""Sizes of a batch that are compiled."""

_DEGREES = {CHEAP: "", ALL: " and recomputation_limit_mb = 1"}
"""Degrees of recomputation, and what asks for them besides."""

Compile = Callable[..., Unit]
"""Compiles a request for a target; a degree of recomputation may follow."""


def advice(
    compiled: Compile, target: Target, request: RunRequest, device: str, available: int
) -> Sequence[str]:
    """What would make the step fit, a line each; none where nothing is known."""
    return [
        *_recomputation(compiled, target, request, device, available),
        *_smaller_batch(compiled, target, request, device, available),
    ]


def _recomputation(
    compiled: Compile, target: Target, request: RunRequest, device: str, available: int
) -> Iterator[str]:
    """The least degree of recomputation with which the step fits."""
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
    """The most rows with which the step fits, if what is fed has as many rows each."""
    rows = _common_rows(request)
    if rows < 2:
        return
    fits, beyond, size = 0, rows, 0
    trial = rows // 2
    for _ in range(_MOST_TRIALS):
        try:
            needed = compiled(target, _with_rows(request, trial)).arena_sizes.get(device, 0)
        except (OpError, ValueError):  # the program has the number of rows in other places
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
    """The number of rows of all that is fed but single numbers; 0 where they differ."""
    rows = {feed.shape[0] for feed in request.feeds if feed.shape}
    (count,) = rows if len(rows) == 1 else (0,)
    return count or 0


def _with_rows(request: RunRequest, rows: int) -> RunRequest:
    feeds = [
        feed._replace(shape=(rows, *feed.shape[1:])) if feed.shape else feed
        for feed in request.feeds
    ]
    return request._replace(feeds=feeds)

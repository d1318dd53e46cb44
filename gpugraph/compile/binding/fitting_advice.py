"""Advice for a step that does not fit into a device's memory: a setting or a batch size with which
the step would fit.

The step is compiled again with each change, up to memory planning. So the sizes in the advice are
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpugraph.base.errors import OpError
from gpugraph.compile.rewriting.activation_recomputation import ALL, CHEAP
from gpugraph.compile.unit.compile_unit import RunRequest, Target, Unit
from gpugraph.memory import human_readable_bytes

_MAX_TRIALS = 6
"""The maximum number of batch sizes for which the step is compiled."""

_DEGREES = {CHEAP: "", ALL: " and recomputation_limit_mb = 1"}
"""By degree of recomputation: the settings that request it, in addition to
`memory_optimization`.
"""

Compile = Callable[..., Unit]
"""A function that returns the compiled unit of a request for a target; its third argument, if
given, is a degree of recomputation.
"""


def advice(
    compiled: Compile, target: Target, request: RunRequest, device: str, available: int
) -> Sequence[str]:
    """Return lines, each with a change that makes the step's arena fit into `available` bytes of a
    device. If no change helps, return an empty list.
    """
    return [
        *_recomputation(compiled, target, request, device, available),
        *_smaller_batch(compiled, target, request, device, available),
    ]


def _recomputation(
    compiled: Compile, target: Target, request: RunRequest, device: str, available: int
) -> Iterator[str]:
    """Yield a line for the lowest degree of recomputation with which the arena fits. If no degree
    is sufficient, yield nothing.
    """
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
    """Yield a line for the maximum batch size with which the arena fits. Yield nothing if there is
    no such batch size, or if the first sizes of the feeds differ.
    """
    rows = _common_rows(request)
    if rows < 2:
        return
    fits, beyond, size = 0, rows, 0
    trial = rows // 2
    for _ in range(_MAX_TRIALS):
        try:
            needed = compiled(target, _with_rows(request, trial)).arena_sizes.get(device, 0)
        except (OpError, ValueError):  # the graph requires this number of rows
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
    """Return the size of the first axis of all fed tensors, not counting scalars. If the sizes
    differ or are unknown, return 0.
    """
    rows = {feed.shape[0] for feed in request.feeds if feed.shape}
    (count,) = rows if len(rows) == 1 else (0,)
    return count or 0


def _with_rows(request: RunRequest, rows: int) -> RunRequest:
    feeds = [
        feed._replace(shape=(rows, *feed.shape[1:])) if feed.shape else feed
        for feed in request.feeds
    ]
    return request._replace(feeds=feeds)

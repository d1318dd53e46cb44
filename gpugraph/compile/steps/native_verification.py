"""The check of native code against NumPy in a run, with `GPUGRAPH_VERIFY=1`.

The first native run of a step computes both ways from the same inputs, NumPy in separate memory.
A step that writes variables computes both ways there: no variable is written twice, and no
other run sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import InternalError
from gpugraph.compile.steps.native_node_code import Candidate, Piece, translate
from gpugraph.compile.steps.result_comparison import are_equal, spread


def run_verified(native: Candidate, piece: Piece, function: Any, run: Callable[[], Any]) -> None:
    """Call `run`, which runs the step by its native code, and compare the results with NumPy's.

    piece, function: the code and its compiled function, if it has one. InternalError if they
    differ by more than rounding explains.
    """
    if native.writes:
        _compare_apart(native, function)
        run()
        return
    before, plain = native.apart(), native.apart()
    plain.run_plain()
    run()
    if not _agree(native, plain, before, piece):
        if not native.variables:
            raise disagreement()
        _compare_apart(native, function)  # another run may have written a variable meanwhile


def disagreement() -> InternalError:
    """Return the error of native code that computes other numbers than NumPy."""
    return InternalError.of_no_node(
        "The native code of this op computes other numbers than NumPy: it amplifies rounding "
        "errors, or the C compiler is not sound"
    )


def _compare_apart(native: Candidate, function: Any) -> None:
    """Compare both ways on copies of variables, which no other run writes."""
    trial = native.apart(isolated=True)
    before, plain = trial.apart(isolated=True), trial.apart(isolated=True)  # of the same values
    plain.run_plain()
    piece = translate(trial)
    if any(call() for call in piece.bind(function).calls):
        raise disagreement()
    if not _agree(trial, plain, before, piece):
        raise disagreement()


def _agree(native: Candidate, plain: Candidate, before: Candidate, piece: Piece) -> bool:
    """Return whether both have written the same. before: the step as it was before."""
    expected = plain.written
    return are_equal(native.written, expected, piece.is_exact, lambda: spread(before, expected))

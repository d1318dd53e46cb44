"""Comparison of native code with NumPy during a run, with `GPUGRAPH_VERIFY=1`.

In the first native run of a step, native code and NumPy both compute the step from the same inputs.
NumPy uses separate memory. If the step writes variables, native code also uses separate memory.
Then no variable is written twice, and no other run reads the result of the comparison.

Two results are treated as equal if they differ by the effect of a few roundings. If the results
differ more, the native code may still be correct, because the op may amplify rounding errors.
`spread` therefore computes a tolerance for each element. NumPy computes the step again from inputs
that are changed by a few roundings (up, down and at random). A fused step is computed member by
member, and the result of each member is changed in the same way. For a sum, the tolerance is
increased by the rounding errors of the sum of its terms' magnitudes, which is large even if the
terms cancel. NumPy computes this sum from the absolute values of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import finfo, kind_of
from gpugraph.base.errors import InternalError
from gpugraph.compile.steps.native_node_code import Candidate, Piece, translate
from gpugraph.kernel import Elementwise
from gpugraph.ops.fusion.fused_members import FusedMember, MemberContext

NEAR = 64
"""The tolerance of an element in roundings, relative to the element's own magnitude."""

_NOISE = 8
"""An additional tolerance of an element in roundings, relative to the largest element of its
array.
"""

_MOST = 1e-2
"""The maximum relative tolerance of either kind, for dtypes with few digits."""

_PART = 1 << 16


def run_verified(native: Candidate, piece: Piece, function: Any, run: Callable[[], Any]) -> None:
    """Call `run`, which runs the step in native code, and compare the results with NumPy's.

    Raises InternalError if the difference is larger than rounding errors can explain.

    Args:
      piece: the native code.
      function: the compiled function of the native code, or None.
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
    """Return the error to raise if native code computes other numbers than NumPy."""
    return InternalError.of_no_node(
        "The native code of this op computes other numbers than NumPy: it amplifies rounding "
        "errors, or the C compiler is not sound"
    )


def _compare_apart(native: Candidate, function: Any) -> None:
    """Compare native code and NumPy on copies of the variables, since other runs might write the
    variables.
    """
    trial = native.apart(isolated=True)
    before, plain = trial.apart(isolated=True), trial.apart(isolated=True)  # equal copies
    plain.run_plain()
    piece = translate(trial)
    if any(call() for call in piece.bind(function).calls):
        raise disagreement()
    if not _agree(trial, plain, before, piece):
        raise disagreement()


def _agree(native: Candidate, plain: Candidate, before: Candidate, piece: Piece) -> bool:
    """Return whether `native` and `plain` have written equal results.

    Args:
      before: the step, with copies of its arrays from before the step ran.
    """
    expected = plain.written
    return are_equal(native.written, expected, piece.is_exact, lambda: spread(before, expected))


def are_equal(
    arrays: Sequence[Any],
    expected: Sequence[Any],
    exactly: bool,
    spread: Callable[[], Sequence[Any]] | None = None,
) -> bool:
    """Return whether arrays have the expected contents. With `exactly`, each element must be equal,
    otherwise equal up to rounding. The signs of zeros and the bits of NaNs are ignored.

    Args:
      spread: a function that returns the tolerance of each element of each array. It is called only
        if some elements differ by more than rounding.
    """
    pairs = list(zip(arrays, expected, strict=True))
    if any(array.shape != other.shape for array, other in pairs):
        return False
    far = [pair for pair in pairs if not _is_near(*pair, exactly)]
    if not far or exactly or spread is None:
        return not far
    return all(
        bool(np.all(_off(array, other) <= limit))
        for (array, other), limit in zip(pairs, spread(), strict=True)
        if any(array is one for one, _ in far)
    )


def change(array: Any, expected: Any) -> Any:
    """Return the absolute difference of two arrays, element by element, as `are_equal` computes it.
    The difference is infinite where only one of the two elements is finite.
    """
    return _off(array, expected)


def rounding(dtype: Any) -> float:
    """Return the relative error of one rounding in a dtype. Return 0 for a dtype that does not
    round.
    """
    return float(finfo(dtype).eps) if kind_of(dtype) == "f" else 0.0


def _is_near(array: Any, expected: Any, exactly: bool) -> bool:
    eps = 0.0 if exactly else rounding(expected.dtype)
    noise = min(_NOISE * eps, _MOST) * _largest(expected) if eps else 0.0
    near = min(NEAR * eps, _MOST)
    for a, b in zip(_parts(array), _parts(expected)):
        limit = noise + near * np.where(np.isfinite(b), np.abs(b), 0) if eps else 0
        if not np.all(_off(a, b) <= limit):
            return False
    return True


def _off(array: Any, expected: Any) -> Any:
    same = (array == expected) | ((array != array) & (expected != expected))
    if kind_of(expected.dtype) not in "fiu":
        return np.where(same, 0.0, np.inf)
    with np.errstate(all="ignore"):
        off = np.abs(array.astype(np.float64) - expected.astype(np.float64))
    return np.where(same, 0.0, np.where(np.isfinite(off), np.where(off, off, np.inf), np.inf))


def _largest(array: Any) -> float:
    """Return the largest finite magnitude in an array."""
    largest = 0.0
    for part in _parts(array):
        finite = part[np.isfinite(part)]
        if finite.size:
            largest = max(largest, float(finite.max()), -float(finite.min()))
    return largest


def _parts(array: Any) -> Iterator[Any]:
    """Yield the elements of an array in parts, so that a comparison uses little memory."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, _PART):
        yield flat[start : start + _PART]


_MOVED = 4
"""In a trial, the inputs are changed by this number of roundings."""

_ALLOWED = 8
"""A result may differ by this factor times the difference that a trial causes."""

_TERMS = 64
"""The tolerance of a sum in roundings, relative to the sum of its terms' magnitudes. The square
root of the number of terms is added, since roundings up and down partly cancel.
"""

_TRIALS = 4

_Noise = Callable[[Any], Any]
"""A function that returns one value for each element of an array."""


def spread(step: Candidate, expected: Sequence[Any]) -> list[Any]:
    """Return the tolerance of each element of a step's results.

    A computation with changed inputs that fails is ignored.

    Args:
      step: the step, with copies of its arrays from before the step ran.
    """
    limits: list[Any] = [np.zeros(array.shape) for array in expected]
    for results, weight in _trials(step):
        for limit, array, other in zip(limits, results, expected, strict=True):
            np.maximum(limit, weight * change(array.reshape(other.shape), other), out=limit)
    terms = None if _members(step) or isinstance(step.native, Elementwise) else _terms(step)
    for limit, sizes in zip(limits, terms or ()):
        limit += sizes
    return limits


def _trials(step: Candidate) -> Iterator[tuple[Sequence[Any], float]]:
    """Yield pairs of the step's results for slightly changed inputs, and a factor. The tolerance of
    an element is the factor times the difference between these results and the original results.
    """
    random = np.random.default_rng(0)
    for trial in range(_TRIALS):

        def signs(array: Any, trial: int = trial) -> Any:
            if trial < 2:
                return 1 - 2 * trial
            return random.choice(np.array([-1, 1], np.int8), array.shape)

        try:
            yield _moved_results(step, signs), _ALLOWED
        except Exception:
            continue


def _moved_results(step: Candidate, signs: _Noise) -> Sequence[Any]:
    def move(array: Any) -> Any:
        return _moved(array, signs)

    if _members(step):
        return _by_members(step, move, signs)
    trial = step.apart(isolated=True, changed=move)
    trial.run_plain()
    return trial.written


def _moved(array: Any, signs: _Noise) -> Any:
    eps = rounding(array.dtype)
    if not eps:
        return array.copy()
    with np.errstate(all="ignore"):
        return (array * (1 + _MOVED * eps * signs(array))).astype(array.dtype)


def _terms(step: Candidate) -> list[Any] | None:
    """Return the tolerance for results that are sums: the rounding errors of the sum of the terms'
    magnitudes. Return None if the step fails when its inputs are replaced by their absolute values.
    """
    trial = step.apart(isolated=True, changed=_size)
    try:
        trial.run_plain()
    except Exception:
        return None
    return [_of_terms(array, step.inputs) for array in trial.written]


def _of_terms(sizes: Any, inputs: Sequence[Any]) -> Any:
    count = max((array.size for array in inputs), default=0) / max(sizes.size, 1)
    with np.errstate(all="ignore"):
        limit = (_TERMS + sqrt(count)) * rounding(sizes.dtype) * np.abs(sizes.astype(np.float64))
    return np.where(np.isnan(limit), np.inf, limit)


def _size(array: Any) -> Any:
    return np.abs(array) if kind_of(array.dtype) == "f" else array.copy()


# -- fused steps


def _members(step: Candidate) -> Sequence[FusedMember]:
    attrs = step.context.attrs
    if "members" not in attrs:
        return ()
    return attrs["members"]  # `attrs[...]` resolves open sizes, `get` does not


def _by_members(step: Candidate, move: _Noise, signs: _Noise) -> Sequence[Any]:
    values = [move(array) for array in step.inputs]
    for member in _members(step):
        sources = [values[number] for number in member.sources]
        results = [move(array) for array in _computed(member, sources)]
        if not isinstance(member.expressions, Elementwise):
            sizes = _computed(member, [_size(array) for array in sources])
            for array, terms in zip(results, sizes):
                if rounding(array.dtype):
                    array += (signs(array) * _of_terms(terms, sources)).astype(array.dtype)
        values += results
    return [values[number] for number in step.context.attrs["stores"]]


def _computed(member: FusedMember, sources: Sequence[Any]) -> list[Any]:
    """Compute a member op in NumPy in separate memory, and return its results."""
    signature = member.signature
    shapes = signature.input_shapes, signature.output_shapes
    results = [
        np.empty(shape, dtype.base_dtype.as_numpy_dtype)
        for shape, dtype in zip(signature.output_shapes, member.output_types, strict=True)
    ]
    context = MemberContext(member, *shapes, _new_array)
    with np.errstate(all="ignore"):
        member.kernel.bind(context, [*sources, *results])()
    return results


def _new_array(_: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return np.empty(shape, dtype.base_dtype.as_numpy_dtype)

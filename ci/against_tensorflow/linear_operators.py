"""Linear operators of all classes, by TensorFlow and gpugraph.

    python ci/against_tensorflow/linear_operators.py --tensorflow PYTHON [--only NAME] [--words]

Each class is made with several batches, dtypes and promises, and all its functions are compared.
The script fails where an answer differs that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, first_line, main

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)

OPS_OF_2 = "the words of another op: 1.15 has MatrixSetDiag, 2.x MatrixSetDiagV3"
DTYPE = "2.x drops the dtype, so that a real operator becomes complex"
LATER = "2.x computes the inverse, 1.15 and gpugraph solve systems"
EXPLAINED: dict[str, str] = {
    **{
        f"{name}: [2] sum": OPS_OF_2
        for name in ("diagonal", "definite diagonal", "complex diagonal", "multiple")
    },
    **{f"zeros: {batch} sum": "1.15's function fails by its own error" for batch in ("[]", "[2]")},
    **{f"circulant: {batch} adjoint": DTYPE for batch in ("[]", "[2]")},
    "pairs: circulant matmul circulant": DTYPE,
    "pairs: circulant solve circulant": DTYPE,
    **{
        f"{name}: {batch} inverse class": LATER
        for name in ("circulant 2D", "circulant 3D")
        for batch in ("[]", "[2]")
    },
    **{
        f"{name}: {batch} assert_self_adjoint": "2.x recurs without an end"
        for name in ("update", "two-sided update")
        for batch in ("[]", "[2]")
    },
    **{
        f"pairs: {name} solve identity class": "2.x solves identities separately"
        for name in ("diagonal", "full", "multiple", "triangle", "circulant")
    },
}

BATCHES: tuple[tuple[int, ...], ...] = ((), (2,))
TENSORS = (
    "to_dense", "diag_part", "trace", "determinant", "log_abs_determinant", "shape_tensor",
    "batch_shape_tensor", "domain_dimension_tensor", "range_dimension_tensor",
    "tensor_rank_tensor",
)  # fmt: skip
CHECKS = ("assert_non_singular", "assert_positive_definite", "assert_self_adjoint")
PROMISES = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


def numbers(*shape: int, seed: int = 0) -> Any:
    """Return numbers of a normal distribution."""
    return np.random.RandomState(seed).normal(size=shape)


def spectrum(*shape: int) -> Any:
    """Return the transform of positive numbers: a spectrum of a real matrix."""
    axes = [axis for axis, size in enumerate(shape) if axis or len(shape) == 1 or size != 2]
    return np.fft.fftn(np.abs(numbers(*shape)) + 0.1, axes=axes)


def definite(batch: Sequence[int], size: int) -> Any:
    """Return positive definite matrices."""
    root = numbers(*batch, size, size)
    return root @ np.swapaxes(root, -1, -2) + np.eye(size)


def square(batch: Sequence[int], size: int = 3) -> Any:
    """Return matrices that have an inverse."""
    return numbers(*batch, size, size, seed=1) + 3 * np.eye(size)


Case = Callable[[Any, tuple[int, ...]], Any]


def block_cases(la: Any) -> dict[str, Case]:
    """Return functions that make operators of others, by name."""
    full, diag = la.LinearOperatorFullMatrix, la.LinearOperatorDiag

    def pair(batch: tuple[int, ...]) -> list[Any]:
        return [full(square(batch, 2)), diag(numbers(*batch, 3) + 4)]

    return {
        "blocks": lambda tf, batch: la.LinearOperatorBlockDiag(pair(batch)),
        "product": lambda tf, batch: la.LinearOperatorComposition(
            [full(square(batch)), la.LinearOperatorLowerTriangular(square(()))]
        ),
        "kronecker": lambda tf, batch: la.LinearOperatorKronecker(pair(batch)),
        "three factors": lambda tf, batch: la.LinearOperatorKronecker(
            [diag(numbers(2) + 4), *pair(batch)]
        ),
        "inverse": lambda tf, batch: la.LinearOperatorInversion(full(square(batch))),
        "adjoint": lambda tf, batch: la.LinearOperatorAdjoint(full(square(batch))),
        "update": lambda tf, batch: la.LinearOperatorLowRankUpdate(
            diag(np.abs(numbers(*batch, 4)) + 1, is_positive_definite=True),
            numbers(*batch, 4, 2),
            np.abs(numbers(*batch, 2, seed=3)),
            is_diag_update_positive=True,
        ),
        "two-sided update": lambda tf, batch: la.LinearOperatorLowRankUpdate(
            full(square(batch, 4)), numbers(4, 2), v=numbers(*batch, 4, 2, seed=5)
        ),
    }


def cases(tf: Any) -> dict[str, Case]:
    """Return functions that make operators of a batch shape, by name."""
    la = tf.linalg
    float64 = tf.float64
    return {
        "diagonal": lambda tf, batch: la.LinearOperatorDiag(numbers(*batch, 3)),
        "definite diagonal": lambda tf, batch: la.LinearOperatorDiag(
            np.abs(numbers(*batch, 3)) + 1, is_positive_definite=True
        ),
        "complex diagonal": lambda tf, batch: la.LinearOperatorDiag(
            numbers(*batch, 3) + 1j * numbers(*batch, 3, seed=2)
        ),
        "full": lambda tf, batch: la.LinearOperatorFullMatrix(square(batch)),
        "definite": lambda tf, batch: la.LinearOperatorFullMatrix(
            definite(batch, 3), is_self_adjoint=True, is_positive_definite=True
        ),
        "identity": lambda tf, batch: la.LinearOperatorIdentity(3, batch or None, float64),
        "multiple": lambda tf, batch: la.LinearOperatorScaledIdentity(3, numbers(*batch) + 2),
        "zeros": lambda tf, batch: la.LinearOperatorZeros(3, batch_shape=batch, dtype=float64),
        "reflection": lambda tf, batch: la.LinearOperatorHouseholder(numbers(*batch, 3)),
        "triangle": lambda tf, batch: la.LinearOperatorLowerTriangular(square(batch)),
        "toeplitz": lambda tf, batch: la.LinearOperatorToeplitz(
            numbers(*batch, 3) + [5.0, 0.0, 0.0], numbers(*batch, 3, seed=4) + [5.0, 0.0, 0.0]
        ),
        "circulant": lambda tf, batch: la.LinearOperatorCirculant(
            spectrum(*batch, 3), input_output_dtype=float64
        ),
        "circulant 2D": lambda tf, batch: la.LinearOperatorCirculant2D(
            numbers(*batch, 2, 3) + 3.0, input_output_dtype=tf.complex128
        ),
        "circulant 3D": lambda tf, batch: la.LinearOperatorCirculant3D(
            numbers(*batch, 2, 2, 3) + 3.0, input_output_dtype=tf.complex128
        ),
        **block_cases(la),
    }  # fmt: skip


def split(value: Any) -> Any:
    """Return complex numbers as pairs."""
    array = np.asarray(value)
    return [array.real, array.imag] if np.iscomplexobj(array) else array


def recorded(record: Record, key: str, make: Callable[[], Any], session: Any) -> None:
    """Record a value, or the error of making or running it."""
    try:
        fetched = session.run(make())
    except Exception as error:  # any error is an answer
        line = first_line(getattr(error, "message", None) or str(error))
        record(key, ["error", record.class_of(error), line])
    else:
        record(key, split(fetched) if fetched is not None else None)


def compare_operator(tf: Any, record: Record, make: Case, batch: tuple[int, ...]) -> None:
    """Record all functions of an operator."""
    operator, start = make(tf, batch), f"{list(batch)} "
    record(start + "name", [operator.name, operator.dtype.name, str(operator.shape)])
    record(start + "promises", [getattr(operator, name) for name in PROMISES])
    rows, columns = operator.shape.as_list()[-2:]
    dtype = operator.dtype.as_numpy_dtype
    with tf.Session() as session:
        for name in (*TENSORS, *CHECKS):
            recorded(record, start + name, getattr(operator, name), session)
        for adjoint in (False, True):
            size, other = (rows, columns) if adjoint else (columns, rows)
            x = numbers(2, size, 2, seed=7).astype(dtype)
            y = numbers(other, 2, seed=8).astype(dtype)
            for flipped in (False, True):
                key = f"{start}{adjoint} {flipped} "
                left, right = (np.swapaxes(a, -1, -2) if flipped else a for a in (x, y))
                options = {"adjoint": adjoint, "adjoint_arg": flipped}
                recorded(record, key + "matmul", partial(operator.matmul, left, **options), session)
                recorded(record, key + "solve", partial(operator.solve, right, **options), session)
            vector, other_vector = x[..., 0], y[..., 0]
            key = f"{start}{adjoint} "
            recorded(record, key + "matvec", partial(operator.matvec, vector, adjoint), session)
            recorded(
                record, key + "solvevec", partial(operator.solvevec, other_vector, adjoint), session
            )
        whole = numbers(rows, columns, seed=9).astype(dtype)
        recorded(record, start + "sum", lambda: operator.add_to_tensor(whole), session)
        for name in ("adjoint", "inverse", "cholesky"):
            recorded(record, start + name, partial(_dense_of, operator, name), session)
            try:
                record(f"{start}{name} class", type(getattr(operator, name)()).__name__)
            except Exception as error:  # any error is an answer
                record(f"{start}{name} class", record.class_of(error))


def _dense_of(operator: Any, method: str) -> Any:
    """Return the matrix of the operator that a method returns."""
    return getattr(operator, method)().to_dense()


def _add(name: str) -> None:
    def run(tf: Any, record: Record) -> None:
        for batch in BATCHES:
            compare_operator(tf, record, cases(tf)[name], batch)

    PROGRAMS[name] = run


NAMES = (
    "diagonal", "definite diagonal", "complex diagonal", "full", "definite", "identity", "multiple",
    "zeros", "reflection", "triangle", "toeplitz", "circulant", "circulant 2D", "circulant 3D",
    "blocks", "product", "kronecker", "three factors", "inverse", "adjoint", "update",
    "two-sided update",
)  # fmt: skip
for _name in NAMES:
    _add(_name)


@program
def pairs(tf: Any, record: Record) -> None:
    known = cases(tf)
    chosen = [
        "diagonal",
        "full",
        "identity",
        "multiple",
        "zeros",
        "triangle",
        "circulant",
        "inverse",
    ]
    with tf.Session() as session:
        for first in chosen:
            for second in chosen:
                a, b = known[first](tf, ()), known[second](tf, ())
                for method in ("matmul", "solve"):
                    key = f"{first} {method} {second}"

                    def result(method: str = method, a: Any = a, b: Any = b) -> Any:
                        return getattr(a, method)(b)

                    recorded(record, key, lambda: result().to_dense(), session)
                    try:
                        made = result()
                        record(f"{key} class", [type(made).__name__, made.is_square])
                    except Exception as error:  # any error is an answer
                        record(f"{key} class", record.class_of(error))


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))

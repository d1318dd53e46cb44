"""Circulant operators. Their products are convolutions, which are computed with Fourier
transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype, complex64, complex128, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_less, assert_positive
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import (
    assert_is_real,
    assert_no_zeros,
    broadcast_batches,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import ones
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.complex_parts import imag, real
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matrix_transpose
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of
from gpugraph.ops.reductions.reduction_functions import reduce_prod, reduce_sum
from gpugraph.ops.signal.fourier_transforms import fft, fft2d, fft3d, ifft, ifft2d, ifft3d

_TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}


def as_complex(x: Tensor) -> Tensor:
    """Convert a tensor to complex64, or to complex128 if it is float64. A complex tensor is
    returned unchanged.
    """
    if x.dtype.is_complex:
        return x
    return cast(x, complex128 if x.dtype.base_dtype == float64 else complex64)


class BaseCirculant(LinearOperator):
    """Base class of circulant operators of one, two or three nested levels.

    Args:
      spectrum: the eigenvalues [..., *block_shape].
    """

    def __init__(
        self,
        spectrum: Any,
        block_depth: int,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        if block_depth not in _TRANSFORMS:
            raise ValueError(
                f"Expected block_depth to be in {list(_TRANSFORMS)}.  Found: {block_depth}."
            )
        self._depth = block_depth
        with name_scope(name, values=[spectrum]):
            self._spectrum = convert_to_tensor(spectrum, name="spectrum")
        rank = self._spectrum.shape.ndims
        if rank is not None and rank < block_depth:
            raise ValueError(
                f"Argument spectrum must have at least {block_depth} dimensions.  "
                f"Found: {self._spectrum}"
            )
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("A [[nested] block] circulant operator is always square.")
        promises = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(as_dtype(input_output_dtype), [self._spectrum], *promises, name)

    @property
    def block_depth(self) -> int:
        """The number of nested levels: 1, 2 or 3."""
        return self._depth

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues [..., *block_shape]."""
        return self._spectrum

    @property
    def block_shape(self) -> TensorShape:
        """The static sizes of the nested levels."""
        return self._spectrum.shape[-self._depth :]

    def block_shape_tensor(self) -> Tensor:
        """Return the sizes of the nested levels as an int32 vector."""
        return shape(self._spectrum)[-self._depth :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Return the convolution's kernel, the inverse Fourier transform of the spectrum."""
        with self._scope(name):
            return cast(self._inverse(as_complex(self._spectrum)), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """Return an operation that raises InvalidArgumentError in a run if the kernel is not
        real.
        """
        epsilon = np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps
        with self._scope(name):
            part = absolute(imag(self._inverse(as_complex(self._spectrum))))
            limit = cast(epsilon, part.dtype) * cast(self._whole_shape()[-1], part.dtype)
            check: Operation = assert_less(part, limit, message="Spectrum was not Hermitian")
            return check

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _inverse(self, x: Tensor) -> Tensor:
        return _TRANSFORMS[self._depth][1](x)

    def _shape(self) -> TensorShape:
        sizes = self._spectrum.shape
        size = self.block_shape.num_elements() if sizes.ndims is not None else None
        return sizes[: -self._depth].concatenate(TensorShape([size, size]))

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._spectrum)
        size = reduce_prod(sizes[-self._depth :])
        return concat([sizes[: -self._depth], stack([size, size])], 0)

    def _assert_non_singular(self) -> Operation:
        return assert_no_zeros(
            self._spectrum, "Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> Operation:
        message = "Not positive definite:  Real part of spectrum was not all positive."
        check: Operation = assert_positive(real(self._spectrum), message=message)
        return check

    def _assert_self_adjoint(self) -> Operation:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return assert_is_real(self._spectrum, message) or no_op("assert_self_adjoint")

    def _filtered(self, x: Tensor, adjoint: bool, is_solution: bool) -> Tensor:
        """Multiply the Fourier transform of each column of x by the spectrum. If `is_solution` is
        true, divide by it.
        """
        spectrum = as_complex(self._spectrum)
        spectrum = conj(spectrum) if adjoint else spectrum
        sizes = self.block_shape_tensor()
        columns = expand_dims(spectrum, -self._depth - 1)  # [..., 1, *block_shape]
        flat = reshape(columns, concat([shape(columns)[: -self._depth], [-1]], 0))
        vectors, flat = broadcast_columns(matrix_transpose(cast(x, spectrum.dtype)), flat)
        whole = concat([shape(vectors)[:-1], sizes], 0)
        transform, inverse = _TRANSFORMS[self._depth]
        values, factors = transform(reshape(vectors, whole)), reshape(flat, whole)
        result = inverse(values / factors if is_solution else values * factors)
        matrix = matrix_transpose(reshape(result, shape(vectors)))
        return cast(matrix, self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(adjoint_of(x) if adjoint_arg else x, adjoint, False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(adjoint_of(rhs) if adjoint_arg else rhs, adjoint, True)

    def _determinant(self) -> Tensor:
        return cast(reduce_prod(self._spectrum, self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(log(absolute(self._spectrum)), self._axes()), self.dtype)

    def _trace(self) -> Tensor:
        total = reduce_sum(self._spectrum, self._axes())
        return cast(total if self.dtype.is_complex else real(total), self.dtype)

    def _diag_part(self) -> Tensor:
        sizes = self._whole_shape()
        mean = self._trace() / cast(sizes[-1], self.dtype)
        return expand_dims(mean, -1) * ones(sizes[:-1], self.dtype)


def broadcast_columns(vectors: Tensor, spectrum: Tensor) -> list[Tensor]:
    """Broadcast columns [..., k, n] and a spectrum [..., 1, n] to a common shape, and return
    both.
    """
    vectors, spectrum = broadcast_batches([vectors, spectrum])
    return [vectors, spectrum * ones(shape(vectors)[-2:], spectrum.dtype)]


class LinearOperatorCirculant(BaseCirculant):
    """Circulant matrices with the eigenvalues `spectrum` [..., n]. Row i + 1 is row i, rotated by
    one element.

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises ValueError if
    `spectrum` is a scalar, and for promises that are false for every circulant matrix.

    Args:
      input_output_dtype: the dtype of products and solutions. If it is real, imaginary parts are
        dropped.
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        promises = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, 1, input_output_dtype, *promises, name)


class LinearOperatorCirculant2D(BaseCirculant):
    """Block circulant matrices with circulant blocks: convolutions along two axes. The spectrum is
    [..., n0, n1].

    For the arguments, see `LinearOperatorCirculant`.
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        promises = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, 2, input_output_dtype, *promises, name)


class LinearOperatorCirculant3D(BaseCirculant):
    """Circulant matrices of three nested levels: convolutions along three axes. The spectrum is
    [..., n0, n1, n2].

    For the arguments, see `LinearOperatorCirculant`.
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        promises = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, 3, input_output_dtype, *promises, name)

"""Affine bijectors: a scale and a shift. The scale is a number, a diagonal, a matrix or an
operator.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.library.linear_operators import (
    LinearOperator,
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorLowerTriangular,
    LinearOperatorLowRankUpdate,
    LinearOperatorScaledIdentity,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_diag_and_band import matrix_band_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part, matrix_set_diag


class AffineScalar(Bijector):
    """The bijector y = scale * x + shift, elementwise. `scale` and `shift` may be None."""

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        with name_scope(name, values=[shift, scale]):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            self._factor = None if scale is None else convert_to_tensor(scale, name="scale")
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """The number that is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The factor, or None."""
        return self._factor

    def _forward(self, x: Any) -> Any:
        y = x if self._factor is None else x * self._factor
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = y if self._shift is None else y - self._shift
        return x if self._factor is None else x / self._factor

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._factor is None:
            return convert_to_tensor(0.0, x.dtype.base_dtype)
        return log(absolute(self._factor))


class AffineLinearOperator(Bijector):
    """The bijector y = scale @ x + shift of vectors, where `scale` is a linear operator.

    Raises TypeError if `scale` is not a LinearOperator. Raises ValueError if `validate_args` is
    true and the operator does not declare itself `is_non_singular`.
    """

    def __init__(
        self,
        shift: Any = None,
        scale: LinearOperator | None = None,
        validate_args: bool = False,
        name: str = "affine_linear_operator",
    ) -> None:
        parents: list[Any] = []
        with name_scope(name, values=[shift]):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            parents += [] if self._shift is None else [self._shift]
        if scale is not None:
            if not isinstance(scale, LinearOperator):
                raise TypeError("scale is not instance of tf.LinearOperator")
            if validate_args and not scale.is_non_singular:
                raise ValueError("Scale matrix must be non-singular.")
            parents += scale.graph_parents
        self._operator = scale
        super().__init__(
            forward_min_event_ndims=1,
            graph_parents=parents,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """The vector that is added to the product, or None."""
        return self._shift

    @property
    def scale(self) -> LinearOperator | None:
        """The linear operator, or None."""
        return self._operator

    def _forward(self, x: Any) -> Any:
        y = x if self._operator is None else self._operator.matvec(x)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = y if self._shift is None else y - self._shift
        return x if self._operator is None else self._operator.solvevec(x)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._operator is None:
            return convert_to_tensor(0.0, x.dtype.base_dtype)
        return self._operator.log_abs_determinant()


def scale_operator(
    scale_identity_multiplier: Any = None,
    scale_diag: Any = None,
    scale_tril: Any = None,
    scale_perturb_factor: Any = None,
    scale_perturb_diag: Any = None,
    like: Any = None,
) -> LinearOperator | None:
    """Return the operator multiplier * identity + diag + tril + factor @ diag @ factor^T.

    Terms that are None are omitted. Return None if all terms are None.

    Args:
      like: a vector that determines the size if only the multiplier is set.
    """
    multiplier = None
    if scale_identity_multiplier is not None:
        multiplier = convert_to_tensor(scale_identity_multiplier, name="scale_identity_multiplier")
    base: LinearOperator | None = None
    if scale_tril is not None:
        tril = matrix_band_part(convert_to_tensor(scale_tril, name="scale_tril"), -1, 0)
        diagonal: Any = matrix_diag_part(tril)
        diagonal = diagonal if scale_diag is None else diagonal + scale_diag
        diagonal = diagonal if multiplier is None else diagonal + multiplier[..., None]
        base = LinearOperatorLowerTriangular(matrix_set_diag(tril, diagonal), is_non_singular=True)
    elif scale_diag is not None:
        diagonal = convert_to_tensor(scale_diag, name="scale_diag")
        diagonal = diagonal if multiplier is None else diagonal + multiplier[..., None]
        base = LinearOperatorDiag(diagonal, is_non_singular=True)
    elif multiplier is not None and like is not None:
        size = like.shape.as_list()[-1] if like.shape.ndims else None
        rows = shape(like)[-1] if size is None else size
        base = LinearOperatorScaledIdentity(rows, multiplier, is_non_singular=True)
    if scale_perturb_factor is None:
        return base
    factor = convert_to_tensor(scale_perturb_factor, name="scale_perturb_factor")
    if base is None:
        size = factor.shape.as_list()[-2] if factor.shape.ndims else None
        rows = shape(factor)[-2] if size is None else size
        if multiplier is None:
            base = LinearOperatorIdentity(rows, dtype=factor.dtype)
        else:
            base = LinearOperatorScaledIdentity(rows, multiplier, is_non_singular=True)
    return LinearOperatorLowRankUpdate(
        base,
        factor,
        scale_perturb_diag,
        is_diag_update_positive=scale_perturb_diag is None,
        is_non_singular=True,
    )


class Affine(Bijector):
    """The bijector y = scale @ x + shift of vectors.

    The scale is scale_identity_multiplier * identity + diag(scale_diag) + scale_tril +
    scale_perturb_factor @ diag(scale_perturb_diag) @ transpose(scale_perturb_factor). Terms may be
    None. If all terms are None, the scale is the identity. Raises ValueError for a
    `scale_perturb_diag` without a factor.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("scale_perturb_diag needs a scale_perturb_factor")
        with name_scope(name, values=[shift, scale_diag, scale_tril]):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            self._operator = scale_operator(
                None if scale_diag is None and scale_tril is None else scale_identity_multiplier,
                scale_diag,
                scale_tril,
                scale_perturb_factor,
                scale_perturb_diag,
            )
            self._multiplier: Any = None
            if self._operator is None and scale_identity_multiplier is not None:
                self._multiplier = convert_to_tensor(
                    scale_identity_multiplier, name="scale_identity_multiplier"
                )
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """The vector that is added to the product, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The scale as an operator. If only a multiplier was passed, the scale is a number. If the
        scale is the identity, the property is None.
        """
        return self._multiplier if self._operator is None else self._operator

    def _forward(self, x: Any) -> Any:
        if self._operator is not None:
            x = self._operator.matvec(x)
        elif self._multiplier is not None:
            x = x * self._multiplier[..., None]
        return x if self._shift is None else x + self._shift

    def _inverse(self, y: Any) -> Any:
        x = y if self._shift is None else y - self._shift
        if self._operator is not None:
            return self._operator.solvevec(x)
        return x if self._multiplier is None else x / self._multiplier[..., None]

    def _forward_log_det_jacobian(self, x: Tensor) -> Any:
        if self._operator is not None:
            return self._operator.log_abs_determinant()
        if self._multiplier is None:
            return convert_to_tensor(0.0, x.dtype.base_dtype)
        return log(absolute(self._multiplier)) * cast(shape(x)[-1], x.dtype.base_dtype)

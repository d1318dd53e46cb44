"""Initializers of convolution kernels with which the convolution preserves the norm of its input.

See Xiao et al., "Dynamical Isometry and a Mean Field Theory of CNNs", 2018 (arXiv:1806.05393).
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.random.random_ops import random_normal
from gpugraph.ops.random.variable_initializers import Initializer

Blocks = dict[tuple[int, ...], Tensor]
"""A kernel: a matrix [channels, filters] for each position in the window."""


class _OrthogonalKernel(Initializer):
    """Base class of initializers of kernels [..., channels, filters]. An initializer returns `gain`
    times a kernel that preserves norms.
    """

    floating_only = True

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(dtype)
        self.gain, self.seed = gain, seed

    def _checked(self, shape: Any, ranks: tuple[int, ...], words: str) -> list[int]:
        sizes = [int(size) for size in shape]
        if len(sizes) not in ranks:
            raise ValueError(f"The tensor to initialize must be {words}, not of shape {sizes}")
        if sizes[-2] > sizes[-1]:
            raise ValueError(
                "In_filters cannot be greater than out_filters: the number of input channels "
                f"cannot exceed the number of output channels, as in {sizes}"
            )
        return sizes

    def _orthogonal_matrix(self, size: int, dtype: DType, seed: int | None) -> Tensor:
        drawn = random_normal([size, size], dtype=dtype, seed=seed)
        q, r = raw_ops.Qr(drawn, full_matrices=False)
        matrix: Tensor = q * raw_ops.Sign(raw_ops.DiagPart(r))
        return matrix


class ConvolutionDeltaOrthogonal(_OrthogonalKernel):
    """An initializer that returns `gain` times an orthonormal matrix at the centre of the window,
    and zeros elsewhere.

    Kernels have one to three spatial dimensions. Calls raise ValueError if the rank is wrong, or if
    there are more channels than filters.
    """

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Return the kernel of this shape."""
        del partition_info
        wanted = self.dtype if dtype is None else self._check_dtype(dtype)
        sizes = self._checked(
            shape, (3, 4, 5), "at least three-dimensional and at most five-dimensional"
        )
        matrix = self._orthogonal_matrix(sizes[-1], wanted, self.seed)[: sizes[-2]] * self.gain
        middle = tuple((size - 1) // 2 for size in sizes[:-2])
        nothing = zeros(sizes[-2:], wanted)
        blocks = [
            matrix if place == middle else nothing
            for place in product(*(range(size) for size in sizes[:-2]))
        ]
        return reshape(stack(blocks), sizes)


class _ConvolutionOrthogonal(_OrthogonalKernel):
    """An initializer that returns `gain` times an orthonormal matrix, convolved with kernels of two
    pixels per side.

    Each of these kernels consists of products of random projections. Calls raise ValueError if the
    rank is wrong, if the sides of the window differ, or if there are more channels than filters.
    """

    dimensions = 1

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Return the kernel of this shape."""
        del partition_info
        wanted = self.dtype if dtype is None else self._check_dtype(dtype)
        words = {1: "three-dimensional", 2: "four-dimensional", 3: "five-dimensional"}
        sizes = self._checked(shape, (self.dimensions + 2,), words[self.dimensions])
        if len(set(sizes[:-2])) > 1:
            raise ValueError(f"Kernel sizes must be equal: {sizes[:-2]}")
        seeds = self._seeds()
        first = self._orthogonal_matrix(sizes[-1], wanted, next(seeds))[: sizes[-2]]
        blocks: Blocks = {(0,) * self.dimensions: first}
        if sizes[0] > 1:
            factors = [self._two_pixels(sizes[-1], wanted, seeds) for _ in range(sizes[0] - 1)]
            rest = reduce(_convolved, factors)
            blocks = {place: matmul(first, matrix) for place, matrix in rest.items()}
        ordered = [blocks[place] for place in sorted(blocks)]
        kernel: Tensor = reshape(stack(ordered), sizes) * self.gain
        return kernel

    def _seeds(self) -> Any:
        """Yield the seeds of successive draws.

        If the initializer has no seed, the seeds are None. Otherwise they are consecutive integers
        that start with the initializer's seed.
        """
        seed = self.seed
        while True:
            yield seed
            seed = None if not seed else seed + 1

    def _two_pixels(self, size: int, dtype: DType, seeds: Any) -> Blocks:
        """Return a random norm-preserving kernel whose window has two pixels per side."""
        projections = [self._projection(size, dtype, seeds) for _ in range(self.dimensions)]
        eye = constant(np.eye(size), dtype)
        blocks = {}
        for place in product((0, 1), repeat=self.dimensions):
            factors = [p if side == 0 else eye - p for p, side in zip(projections, place)]
            matrix = factors[0]
            for factor in factors[1:]:
                matrix = matmul(matrix, factor)
            blocks[place] = matrix
        return blocks

    def _projection(self, size: int, dtype: DType, seeds: Any) -> Tensor:
        """Return a symmetric projection onto a random half of the vectors of a random orthonormal
        basis.
        """
        basis = self._orthogonal_matrix(size, dtype, next(seeds))
        mask = cast(random_normal([size], seed=next(seeds)) > 0, dtype)
        columns = basis * mask
        return matmul(columns, columns, transpose_b=True)


def _convolved(left: Blocks, right: Blocks) -> Blocks:
    """Return the kernel of a convolution that is equal to a convolution with `left` followed by a
    convolution with `right`.
    """
    blocks: Blocks = {}
    for (place, matrix), (offset, other) in product(left.items(), right.items()):
        target = tuple(one + another for one, another in zip(place, offset))
        term = matmul(matrix, other)
        blocks[target] = blocks[target] + term if target in blocks else term
    return blocks


class ConvolutionOrthogonal1D(_ConvolutionOrthogonal):
    __doc__ = _ConvolutionOrthogonal.__doc__


class ConvolutionOrthogonal2D(_ConvolutionOrthogonal):
    __doc__ = _ConvolutionOrthogonal.__doc__

    dimensions = 2


class ConvolutionOrthogonal3D(_ConvolutionOrthogonal):
    __doc__ = _ConvolutionOrthogonal.__doc__

    dimensions = 3

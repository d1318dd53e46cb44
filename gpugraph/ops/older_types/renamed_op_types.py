"""Op types that are others under an older name: the same inputs, attrs, kernels and gradients."""

from __future__ import annotations

from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops import elementwise, linalg, nn, signal, tensor_arrays
from gpugraph.ops.framework.kernel_registry import kernels_of, register_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.framework.op_function import OpFunction

assert elementwise and linalg and nn and signal and tensor_arrays  # for their declarations

RENAMED = {
    "BatchCholesky": "Cholesky",
    "BatchFFT": "FFT",
    "BatchFFT2D": "FFT2D",
    "BatchFFT3D": "FFT3D",
    "BatchIFFT": "IFFT",
    "BatchIFFT2D": "IFFT2D",
    "BatchIFFT3D": "IFFT3D",
    "BatchMatMul": "BatchMatMulV2",
    "BatchMatrixBandPart": "MatrixBandPart",
    "BatchMatrixDeterminant": "MatrixDeterminant",
    "BatchMatrixDiag": "MatrixDiag",
    "BatchMatrixDiagPart": "MatrixDiagPart",
    "BatchMatrixInverse": "MatrixInverse",
    "BatchMatrixSetDiag": "MatrixSetDiag",
    "BatchMatrixSolve": "MatrixSolve",
    "BatchMatrixSolveLs": "MatrixSolveLs",
    "BatchMatrixTriangularSolve": "MatrixTriangularSolve",
    "BatchSelfAdjointEigV2": "SelfAdjointEigV2",
    "BatchSvd": "Svd",
    "BiasAddV1": "BiasAdd",
    "Mod": "TruncateMod",
    "Snapshot": "Identity",
    "StackClose": "StackCloseV2",
    "StackPop": "StackPopV2",
    "StackPush": "StackPushV2",
}
"""The op type that each one is."""


def _declare(name: str, like: str) -> None:
    declaration = DECLARATIONS[like]
    summary = f"As {like}, under an older name: {declaration.op_def.summary}"
    op_def = declaration.op_def._replace(name=name, summary=summary)
    OP_DEFS[name] = op_def
    DECLARATIONS[name] = declaration._replace(op_def=op_def, function=OpFunction(op_def))
    for entry in kernels_of(like):
        types = {attr: list(allowed) for attr, allowed in entry.types.items()}
        register_kernel(name, entry.device_type, entry.kernel, types=types, priority=entry.priority)


for _name, _like in RENAMED.items():
    _declare(_name, _like)

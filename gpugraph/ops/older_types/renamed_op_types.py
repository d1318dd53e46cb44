"""Older names of op types. Inputs, attrs, kernels and gradients are the same under both names."""

from __future__ import annotations

from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.framework.changed_arguments.deprecations import DEPRECATIONS
from gpugraph.ops.framework.kernel_registry import add_kernel, kernels_of
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.framework.op_function import OpFunction

RENAMED: dict[str, str] = {
    "BatchCholesky": "Cholesky",
    "BatchCholeskyGrad": "CholeskyGrad",
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
    "HashTable": "HashTableV2",
    "InitializeTable": "InitializeTableV2",
    "InitializeTableFromTextFile": "InitializeTableFromTextFileV2",
    "LookupTableExport": "LookupTableExportV2",
    "LookupTableFind": "LookupTableFindV2",
    "LookupTableImport": "LookupTableImportV2",
    "LookupTableInsert": "LookupTableInsertV2",
    "LookupTableSize": "LookupTableSizeV2",
    "Mod": "TruncateMod",
    "MutableHashTable": "MutableHashTableV2",
    "MutableHashTableOfTensors": "MutableHashTableOfTensorsV2",
    "ScatterNdNonAliasingAdd": "TensorScatterAdd",
    "Snapshot": "Identity",
    "StackClose": "StackCloseV2",
    "StackPop": "StackPopV2",
    "StackPush": "StackPushV2",
}
"""By older op type, the newer op type."""

_ARRAYS = "Close Concat Gather Read Scatter Size Split Write"
_QUEUES = "Close Dequeue DequeueMany DequeueUpTo Enqueue EnqueueMany IsClosed Size"
_READERS = "NumRecordsProduced NumWorkUnitsCompleted Read ReadUpTo Reset RestoreState"
RENAMED |= {
    **{f"TensorArray{part}{version}": f"TensorArray{part}V3"
       for part in _ARRAYS.split() for version in ("", "V2")},
    **{f"Queue{part}": f"Queue{part}V2" for part in _QUEUES.split()},
    **{f"{kind}Queue": f"{kind}QueueV2" for kind in ("FIFO", "PaddingFIFO", "Priority",
                                                     "RandomShuffle")},
    **{f"Reader{part}": f"Reader{part}V2" for part in (*_READERS.split(), "SerializeState")},
    **{f"{kind}Reader": f"{kind}ReaderV2" for kind in ("FixedLengthRecord", "Identity", "TFRecord",
                                                       "TextLine", "WholeFile")},
}  # fmt: skip
"""Op types of graphs from before TensorFlow 1.0.

Their handles were string references; here they are resources, as those of the newer op types.
"""

_INPUTS = {"ScatterNdNonAliasingAdd": {"tensor": "input"}}
"""By older op type, the inputs that have another name in the newer op type: {newer name: older
name}.
"""


def _declare(name: str, like: str) -> None:
    declaration = DECLARATIONS[like]
    summary = f"As {like}, under an older name: {declaration.op_def.summary}"
    names = _INPUTS.get(name, {})
    inputs = tuple(
        arg._replace(name=names.get(arg.name, arg.name)) for arg in declaration.op_def.inputs
    )
    op_def = declaration.op_def._replace(
        name=name, summary=summary, inputs=inputs, deprecation=DEPRECATIONS.get(name)
    )
    OP_DEFS[name] = op_def
    DECLARATIONS[name] = declaration._replace(op_def=op_def, function=OpFunction(op_def))
    for entry in kernels_of(like):
        types = {attr: list(allowed) for attr, allowed in entry.types.items()}
        add_kernel(name, entry.device_type, entry.kernel, types=types, priority=entry.priority)


for _name, _like in RENAMED.items():
    _declare(_name, _like)

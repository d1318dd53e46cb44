"""Kernels as data: descriptions of an op's computation that do not depend on a device or a
launch.
"""

from gpugraph.kernel.failed_op import note_op as note_op, noted_op as noted_op
from gpugraph.kernel.kernel_forms import (
    Call as Call,
    Elementwise as Elementwise,
    Kernel as Kernel,
    Reduction as Reduction,
    Sized as Sized,
    Source as Source,
    reference as reference,
    with_reference as with_reference,
)
from gpugraph.kernel.launch_records import (
    SIZES as SIZES,
    Arg as Arg,
    DeviceState as DeviceState,
    ErrorFlag as ErrorFlag,
    Launch as Launch,
    MovableState as MovableState,
    Scratch as Scratch,
    State as State,
    WindowSums as WindowSums,
)
from gpugraph.kernel.native_forms import (
    SUMMED_AT_ONCE as SUMMED_AT_ONCE,
    Builder as Builder,
    CSource as CSource,
    Decomposition as Decomposition,
    Epilogue as Epilogue,
    FunctionCall as FunctionCall,
    MatmulWithEpilogue as MatmulWithEpilogue,
    MatrixProducts as MatrixProducts,
    Native as Native,
    NewArray as NewArray,
    RowSource as RowSource,
    SourceStages as SourceStages,
    Stage as Stage,
    ViewCopies as ViewCopies,
    ViewCopy as ViewCopy,
)
from gpugraph.kernel.node_signature import NodeSignature as NodeSignature
from gpugraph.kernel.op_memory import SEPARATE as SEPARATE, OpMemory as OpMemory
from gpugraph.kernel.signature_and_context import (
    CompiledFile as CompiledFile,
    KernelContext as KernelContext,
    Signature as Signature,
)

"""The op library: every op declared once, family by family. Importing it declares them all."""

from gpugraph.ops import (
    arrays,
    control,
    debugging,
    elementwise,
    files,
    framework,
    fusion,
    image,
    indexing,
    linalg,
    nn,
    older_types,
    parsing,
    queues,
    random,
    readers,
    reductions,
    segments,
    signal,
    sparse,
    special_functions,
    state,
    strings,
    summaries,
    tables,
    tensor_arrays,
    training,
)
from gpugraph.ops.framework.kernel_registry import note_ours

note_ours()

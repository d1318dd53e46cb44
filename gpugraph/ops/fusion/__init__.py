"""Several ops as one step: expressions, members, tiles, products with epilogues."""

from gpugraph.ops.fusion import (
    fused_members,
    fused_op,
    matmul_epilogue,
    op_expressions,
    tiled_execution,
)

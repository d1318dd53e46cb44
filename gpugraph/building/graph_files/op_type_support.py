"""Checks whether an op type is declared, and the errors for nodes of undeclared op types."""

from __future__ import annotations

from gpugraph.base.errors import NotFoundError, OpError, UnimplementedError
from gpugraph.graph.op_def import OpDef
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.framework.left_out_op_types import left_out_reason


def op_type_refusal(op_type: str, node_name: str) -> OpError | None:
    """Return the error for a node whose op type is not declared. If the op type is declared, return
    None.
    """
    if op_type in OP_DEFS:
        return None
    if reason := left_out_reason(op_type):
        return UnimplementedError(
            None, None, f"Node '{node_name}' is of op type '{op_type}', which is left out: "
            f"{reason}"
        )  # fmt: skip
    return NotFoundError(
        None, None, f"Op type not registered '{op_type}' in binary running on this machine. "
        "Make sure the Op and Kernel are registered in the binary running in this process: "
        f"node '{node_name}' needs it. tf.register_op declares one."
    )  # fmt: skip


def declared_op(op_type: str, node_name: str) -> OpDef:
    """Return the signature of an op type. If the op type is not declared, raise the error of
    `op_type_refusal`.
    """
    refusal = op_type_refusal(op_type, node_name)
    if refusal is not None:
        raise refusal
    return OP_DEFS[op_type]

"""`tensorflow.python.ops.control_flow_util`, with functions that find the conditions and loops that
contain an op.
"""

from __future__ import annotations

from typing import Any

from gpugraph.building.control_flow.cond_context import CondContext
from gpugraph.building.control_flow.while_context import WhileContext

ENABLE_CONTROL_FLOW_V2 = False
ENABLE_CONTROL_FLOW_V2_IN_CONDITIONALS = False


def EnableControlFlowV2(graph: Any) -> bool:
    """Return False, because conditions and loops are built from ops of version 1, such as Switch
    and Merge.
    """
    return False


def IsInXLAContext(op: Any) -> bool:
    """Return False, because there are no XLA contexts."""
    return False


InXlaContext = GraphOrParentsInXlaContext = IsInXLAContext


def GetContainingXLAContext(ctxt: Any) -> None:
    """Return None."""


def _containing(ctxt: Any, kind: type, stop_ctxt: Any = None) -> Any:
    while ctxt is not None:
        if isinstance(ctxt, kind) or ctxt is stop_ctxt:
            return ctxt
        ctxt = ctxt.outer_context
    return None


def GetContainingWhileContext(ctxt: Any, stop_ctxt: Any = None) -> Any:
    """Return the context of the innermost loop that contains `ctxt` or is `ctxt` itself. If `ctxt`
    is not in a loop, return None.
    """
    return _containing(ctxt, WhileContext, stop_ctxt)


def GetContainingCondContext(ctxt: Any) -> Any:
    """Return the context of the innermost condition that contains `ctxt` or is `ctxt` itself. If
    `ctxt` is not in a condition, return None.
    """
    return _containing(ctxt, CondContext)


def IsContainingContext(ctxt: Any, maybe_containing_ctxt: Any) -> bool:
    """Return whether `ctxt` contains `maybe_containing_ctxt`, or is the same context."""
    while ctxt is not maybe_containing_ctxt:
        if ctxt is None:
            return False
        ctxt = ctxt.outer_context
    return True


def IsInWhileLoop(op: Any) -> bool:
    """Return whether an op is in a loop."""
    return GetContainingWhileContext(op._get_control_flow_context()) is not None


def IsInCond(op: Any) -> bool:
    """Return whether an op is in a branch of a condition."""
    return GetContainingCondContext(op._get_control_flow_context()) is not None


def _is(*types: str) -> Any:
    """Return a function that returns whether an op has one of these types, or one of these types
    with the prefix "Ref".
    """
    known = {*types, *(f"Ref{name}" for name in types)}

    def is_type(op: Any) -> bool:
        return op.type in known

    return is_type


IsSwitch, IsMerge = _is("Switch"), _is("Merge")
IsLoopEnter, IsLoopExit = _is("Enter"), _is("Exit")


def IsLoopConstantEnter(op: Any) -> bool:
    """Return whether an op is an Enter that passes a constant tensor into a loop."""
    return bool(IsLoopEnter(op)) and bool(op.get_attr("is_constant"))


def GetOutputContext(op: Any) -> Any:
    """Return the context of an op's outputs. For an op that exits a loop, it is the context around
    the loop.
    """
    ctxt = op._get_control_flow_context()
    return ctxt.outer_context if ctxt is not None and IsLoopExit(op) else ctxt

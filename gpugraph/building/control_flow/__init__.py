"""Branches and loops of the client's graph, as TensorFlow 1 builds them.

`cond` and `while_loop` consist of Switch, Merge, Enter, Exit, NextIteration and LoopCond ops. Each
branch or loop has a control flow context. If an op inside reads a tensor from outside, the context
replaces that input by the output of a Switch or Enter. This module defines nothing. It imports
names from other modules.
"""

from gpugraph.building.control_flow.assertion import Assert as Assert
from gpugraph.building.control_flow.case_and_switch_case import (
    case as case,
    switch_case as switch_case,
)
from gpugraph.building.control_flow.cond import cond as cond
from gpugraph.building.control_flow.context_protos import (
    cond_from_proto as cond_from_proto,
    cond_to_proto as cond_to_proto,
    while_from_proto as while_from_proto,
    while_to_proto as while_to_proto,
)
from gpugraph.building.control_flow.while_loop import while_loop as while_loop

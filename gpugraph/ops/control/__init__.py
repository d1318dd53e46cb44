"""NoOp and groups, the ops of branches and loops, Python functions as ops."""

from gpugraph.ops.control import group_and_no_op, py_func, switch_merge_and_loop_ops

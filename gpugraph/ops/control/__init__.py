"""NoOp and groups, the ops of branches and loops, Python functions as ops."""

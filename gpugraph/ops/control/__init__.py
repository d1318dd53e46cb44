"""NoOp and groups, the ops of branches and loops, and ops that call Python functions."""

"""Ops on variables: VariableV2, assignments and scatter updates, by references or by handles."""

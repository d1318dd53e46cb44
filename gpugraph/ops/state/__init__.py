"""The ops on variables: VariableV2, assignments, scatter updates, by reference or by handle."""

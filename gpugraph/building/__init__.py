"""Graph construction: control flow, variables and their scopes, gradients, graph files."""

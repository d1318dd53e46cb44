"""Functions that build graphs: control flow, variables and their scopes, gradients, graph files."""

"""The client's graph: operations, tensors, names, scopes, collections, default stacks."""

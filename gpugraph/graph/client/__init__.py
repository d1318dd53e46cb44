"""The client's graph: operations, tensors, names, scopes, collections, default stacks."""

__all__: list[str] = []

"""From the client's graph to nodes: pruned, resource variables lowered, reads repeated."""

"""What passes need to know of a graph: shapes, liveness, references, purity, what can be fused."""

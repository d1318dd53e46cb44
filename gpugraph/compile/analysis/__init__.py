"""What passes ask of a graph: shapes, liveness, references, purity, what can be fused."""

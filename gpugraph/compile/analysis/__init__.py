"""What passes ask of a graph: shapes, liveness, references, purity, what can be fused."""

__all__: list[str] = []

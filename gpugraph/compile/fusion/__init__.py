"""Groups of ops as one node."""

__all__: list[str] = []

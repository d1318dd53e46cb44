"""Is there a GPU, and if not, why."""

__all__: list[str] = []

"""One order for all devices, and where each tensor lives."""

__all__: list[str] = []

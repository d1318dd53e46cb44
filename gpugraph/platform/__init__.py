"""What programs stand on: app, flags, logging, files."""

__all__: list[str] = []

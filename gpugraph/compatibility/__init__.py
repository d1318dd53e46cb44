"""Programs for several versions of TensorFlow."""

__all__: list[str] = []

"""The classes for TPUs that estimators refer to even if there is no TPU."""

from __future__ import annotations


class TensorTracer:
    """The tracer of tensors on TPUs. It is never enabled."""

    @staticmethod
    def is_enabled() -> bool:
        """Return False."""
        return False

"""Classes for TPUs. Estimators refer to them even if there is no TPU."""

from __future__ import annotations

from typing import NoReturn


class TensorTracer:
    """The tracer of tensors on TPUs. It is never enabled."""

    @staticmethod
    def is_enabled() -> bool:
        """Return False."""
        return False


class TpuContext:
    """The context of a computation on TPUs. Its number of shards is None, because there is no such
    computation.
    """

    number_of_shards: int | None = None

    def set_number_of_shards(self, number_of_shards: int) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            "TpuContext.set_number_of_shards: there are no TPUs: GPUs are used where there are "
            "kernels"
        )


_CONTEXT = TpuContext()


def get_tpu_context() -> TpuContext:
    """Return the context, which is always the same."""
    return _CONTEXT

"""BFC for GPU memory, with two environment variables that override the configuration.

- TF_FORCE_GPU_ALLOW_GROWTH, `true` or `false`: whether regions grow.
- TF_ENABLE_GPU_GARBAGE_COLLECTION, `true` or `false`: whether free regions are returned to the
  driver when memory runs out. The default is `true`.

Any other value is reported as an error in the log and otherwise ignored.
"""

from __future__ import annotations

import logging

from gpugraph.config.environment import value_of
from gpugraph.memory.bfc.bfc_allocator import BFCAllocator
from gpugraph.memory.sub_allocator import SubAllocator

_ALLOW_GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
_GARBAGE_COLLECTION = "TF_ENABLE_GPU_GARBAGE_COLLECTION"

_logger = logging.getLogger(__name__)


class GPUBFCAllocator(BFCAllocator):
    """A BFCAllocator for GPU memory. Two environment variables can override its settings.

    As in TensorFlow, the allocator of the first GPU is called GPU_0_bfc.
    """

    def __init__(
        self,
        sub_allocator: SubAllocator,
        total_memory: int,
        name: str,
        allow_growth: bool = False,
        *,
        retry_timeout_s: float = 10.0,
    ) -> None:
        super().__init__(
            sub_allocator,
            total_memory,
            name,
            allow_growth_from_env(allow_growth),
            garbage_collection_from_env(),
            retry_timeout_s=retry_timeout_s,
        )


def allow_growth_from_env(configured: bool) -> bool:
    """Return whether regions grow. If TF_FORCE_GPU_ALLOW_GROWTH is not set, return `configured`."""
    value = _switch(_ALLOW_GROWTH, configured)
    if value != configured:
        _logger.warning(
            "%s overrides allow_growth: it is %s, the configuration says %s.",
            _ALLOW_GROWTH,
            value,
            configured,
        )
    return value


def garbage_collection_from_env() -> bool:
    """Return whether free regions may be returned to the driver. If
    TF_ENABLE_GPU_GARBAGE_COLLECTION is not set, return True.
    """
    return _switch(_GARBAGE_COLLECTION, True)


def _switch(variable: str, default: bool) -> bool:
    text = value_of(variable)
    if text is None:
        return default
    if text in ("true", "false"):
        return text == "true"
    _logger.error(
        "%s is set to %r, which is neither 'true' nor 'false'; using %s.",
        variable,
        text,
        str(default).lower(),
    )
    return default

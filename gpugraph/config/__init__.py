"""Settings: those of sessions and runs (`settings`), and of the whole process (`experimental`)."""

from gpugraph.config import experimental
from gpugraph.config.config_proto import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    Message,
    OptimizerOptions,
    RewriterConfig,
    RunMetadata,
    RunOptions,
    SessionOptions,
)

__all__ = [
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "Message",
    "OptimizerOptions",
    "RewriterConfig",
    "RunMetadata",
    "RunOptions",
    "SessionOptions",
    "experimental",
]

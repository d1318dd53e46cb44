"""Settings: of sessions (`config_proto`), of the process (`experimental`, `environment`)."""

from gpugraph.config import experimental as experimental
from gpugraph.config.config_proto import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    Message as Message,
    OptimizerOptions as OptimizerOptions,
    RewriterConfig as RewriterConfig,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
    SessionOptions as SessionOptions,
)

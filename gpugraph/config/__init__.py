"""Settings: of sessions (`config_proto`, `callable_options`), of the process (`experimental`,
`environment`).
"""

from gpugraph.config import experimental as experimental
from gpugraph.config.callable_options import (
    CallableOptions as CallableOptions,
    TensorConnection as TensorConnection,
)
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

"""Settings of sessions (`config_proto`, `callable_options`), of the process (`experimental`,
`environment`), and of sessions without a ConfigProto (`process_settings`).
"""

from gpugraph.config import (
    experimental as experimental,
    rewriting_options as optimizer,  # noqa: F401
    threading_settings as threading,  # noqa: F401
)
from gpugraph.config.callable_options import (
    CallableOptions as CallableOptions,
    TensorConnection as TensorConnection,
)
from gpugraph.config.cluster_and_debug_options import (
    DebugOptions as DebugOptions,
    DebugTensorWatch as DebugTensorWatch,
    RPCOptions as RPCOptions,
    ThreadPoolOptionProto as ThreadPoolOptionProto,
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
from gpugraph.config.device_settings import experimental_list_devices as experimental_list_devices
from gpugraph.config.process_settings import (
    get_soft_device_placement as get_soft_device_placement,
    session_config as session_config,
    set_soft_device_placement as set_soft_device_placement,
)
from gpugraph.config.rewriter_config import (
    AutoParallelOptions as AutoParallelOptions,
    ScopedAllocatorOptions as ScopedAllocatorOptions,
)

"""Memory as arithmetic on integer addresses: allocators, their registry, and arenas.

    device  ->  [LimitingAllocator, TrackingAllocator]  ->  BFCAllocator  ->  SubAllocator
    plan    ->  plan_offsets: all buffers of a plan in one block

Nothing here touches bytes. `Allocator.host_region` leads from an address to the buffer that holds
it, where the memory is the host's. Importing this package registers "DefaultCPUAllocator".
"""

from gpugraph.memory.allocator import (
    ALLOCATOR_ALIGNMENT,
    MAX_ALLOCATION_BYTES,
    Allocator,
    AllocatorWrapper,
    HostRegion,
    LiveAllocation,
)
from gpugraph.memory.allocator_registry import AllocatorFactory, AllocatorRegistry
from gpugraph.memory.allocator_stats import AllocatorStats, human_readable_bytes
from gpugraph.memory.arena_planning import (
    ArenaPlan,
    Lifetime,
    check_offsets,
    lower_bound,
    plan_offsets,
)
from gpugraph.memory.bfc.bfc_allocator import BFCAllocator
from gpugraph.memory.bfc.chunk_splitting import Region
from gpugraph.memory.bfc.gpu_bfc_allocator import (
    GPUBFCAllocator,
    allow_growth_from_env,
    garbage_collection_from_env,
)
from gpugraph.memory.bfc.out_of_memory_log import BinDebugInfo
from gpugraph.memory.host_allocator import new_cpu_allocator
from gpugraph.memory.limiting_allocator import LimitingAllocator
from gpugraph.memory.sub_allocator import (
    FakeSubAllocator,
    HostSubAllocator,
    RegionVisitor,
    SubAllocator,
)
from gpugraph.memory.tracking_allocator import AllocRecord, TrackingAllocator

__all__ = [
    "ALLOCATOR_ALIGNMENT",
    "MAX_ALLOCATION_BYTES",
    "AllocRecord",
    "Allocator",
    "AllocatorFactory",
    "AllocatorRegistry",
    "AllocatorStats",
    "AllocatorWrapper",
    "ArenaPlan",
    "BFCAllocator",
    "BinDebugInfo",
    "FakeSubAllocator",
    "GPUBFCAllocator",
    "HostRegion",
    "HostSubAllocator",
    "Lifetime",
    "LimitingAllocator",
    "LiveAllocation",
    "Region",
    "RegionVisitor",
    "SubAllocator",
    "TrackingAllocator",
    "allow_growth_from_env",
    "check_offsets",
    "garbage_collection_from_env",
    "human_readable_bytes",
    "lower_bound",
    "new_cpu_allocator",
    "plan_offsets",
]

AllocatorRegistry.register("DefaultCPUAllocator", 100, new_cpu_allocator)

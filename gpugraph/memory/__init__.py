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
from gpugraph.memory.arena import ArenaPlan, Lifetime, check_offsets, lower_bound, plan_offsets
from gpugraph.memory.bfc import BFCAllocator
from gpugraph.memory.bfc_chunks import Region
from gpugraph.memory.bfc_report import BinDebugInfo
from gpugraph.memory.cpu import new_cpu_allocator
from gpugraph.memory.gpu_bfc import (
    GPUBFCAllocator,
    allow_growth_from_env,
    garbage_collection_from_env,
)
from gpugraph.memory.limiting import LimitingAllocator
from gpugraph.memory.registry import AllocatorFactory, AllocatorRegistry
from gpugraph.memory.stats import AllocatorStats, human_readable_bytes
from gpugraph.memory.sub_allocator import (
    FakeSubAllocator,
    HostSubAllocator,
    RegionVisitor,
    SubAllocator,
)
from gpugraph.memory.tracking import AllocRecord, TrackingAllocator

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

"""Memory management on integer addresses: allocators, their registry, and arenas.

    device  ->  [LimitingAllocator, TrackingAllocator]  ->  BFCAllocator  ->  SubAllocator
    plan    ->  plan_offsets: all buffers of a plan in one block

Nothing here reads or writes memory. `Allocator.host_region` returns the buffer that holds an
address of host memory. Importing this package registers "DefaultCPUAllocator".
"""

from gpugraph.memory.allocation_traces import (
    AllocationTrace as AllocationTrace,
    Event as Event,
    PolicyPeak as PolicyPeak,
    compare as compare,
    comparison_table as comparison_table,
    size_class as size_class,
)
from gpugraph.memory.allocator import (
    ALLOCATOR_ALIGNMENT as ALLOCATOR_ALIGNMENT,
    MAX_ALLOCATION_BYTES as MAX_ALLOCATION_BYTES,
    Allocator as Allocator,
    AllocatorWrapper as AllocatorWrapper,
    HostRegion as HostRegion,
    LiveAllocation as LiveAllocation,
)
from gpugraph.memory.allocator_adaptors import (
    FailingAllocator as FailingAllocator,
    FailingSubAllocator as FailingSubAllocator,
    LoggingAllocator as LoggingAllocator,
    RecordingAllocator as RecordingAllocator,
)
from gpugraph.memory.allocator_registry import (
    AllocatorFactory as AllocatorFactory,
    AllocatorRegistry as AllocatorRegistry,
)
from gpugraph.memory.allocator_stats import (
    AllocatorStats as AllocatorStats,
    human_readable_bytes as human_readable_bytes,
)
from gpugraph.memory.arena_planning import (
    ArenaPlan as ArenaPlan,
    Lifetime as Lifetime,
    check_offsets as check_offsets,
    lower_bound as lower_bound,
    plan_offsets as plan_offsets,
)
from gpugraph.memory.arena_stacking import Stacking as Stacking, buffers_below as buffers_below
from gpugraph.memory.bfc.bfc_allocator import BFCAllocator as BFCAllocator
from gpugraph.memory.bfc.chunk_store import Region as Region
from gpugraph.memory.bfc.gpu_bfc_allocator import (
    GPUBFCAllocator as GPUBFCAllocator,
    allow_growth_from_env as allow_growth_from_env,
    garbage_collection_from_env as garbage_collection_from_env,
)
from gpugraph.memory.bfc.out_of_memory_log import BinDebugInfo as BinDebugInfo
from gpugraph.memory.host_allocator import new_cpu_allocator as new_cpu_allocator
from gpugraph.memory.limiting_allocator import LimitingAllocator as LimitingAllocator
from gpugraph.memory.sub_allocator import (
    FakeSubAllocator as FakeSubAllocator,
    HostRegions as HostRegions,
    HostSubAllocator as HostSubAllocator,
    RegionVisitor as RegionVisitor,
    SubAllocator as SubAllocator,
    no_such_region as no_such_region,
)
from gpugraph.memory.tracking_allocator import (
    AllocRecord as AllocRecord,
    TrackingAllocator as TrackingAllocator,
)

AllocatorRegistry.register("DefaultCPUAllocator", 100, new_cpu_allocator)

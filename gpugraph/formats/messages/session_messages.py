"""Messages of sessions: settings, reports of runs, clusters, devices.

The tables have the syntax of `declaration_text`. Names and numbers are TensorFlow 1.15's.
"""

from __future__ import annotations

SETTINGS = """
ConfigProto: 1 device_count string:int32, 2 intra_op_parallelism_threads int32,
    5 inter_op_parallelism_threads int32, 9 use_per_session_threads bool,
    12 session_inter_op_thread_pool *ThreadPoolOptionProto, 3 placement_period int32,
    4 device_filters *string, 6 gpu_options GPUOptions, 7 allow_soft_placement bool,
    8 log_device_placement bool, 10 graph_options GraphOptions, 11 operation_timeout_in_ms int64,
    13 rpc_options RPCOptions, 14 cluster_def ClusterDef, 15 isolate_session_state bool,
    16 experimental Experimental
ConfigProto.Experimental: 1 collective_group_leader string, 3 executor_type string,
    4 recv_buf_max_chunk int32, 5 use_numa_affinity bool,
    6 collective_deterministic_sequential_execution bool, 7 collective_nccl bool,
    8 share_session_state_in_clusterspec_propagation bool, 9 disable_thread_spinning bool,
    10 share_cluster_devices_in_session bool, 11 session_metadata SessionMetadata
SessionMetadata: 1 name string, 2 version int64
GPUOptions: 1 per_process_gpu_memory_fraction double, 4 allow_growth bool,
    2 allocator_type string, 3 deferred_deletion_bytes int64, 5 visible_device_list string,
    6 polling_active_delay_usecs int32, 7 polling_inactive_delay_msecs int32,
    8 force_gpu_compatible bool, 9 experimental Experimental
GPUOptions.Experimental: 1 virtual_devices *VirtualDevices, 2 use_unified_memory bool,
    3 num_dev_to_dev_copy_streams int32, 4 collective_ring_order string,
    5 timestamped_allocator bool, 7 kernel_tracker_max_interval int32,
    8 kernel_tracker_max_bytes int32, 9 kernel_tracker_max_pending int32
GPUOptions.Experimental.VirtualDevices: 1 memory_limit_mb *float
OptimizerOptions: 1 do_common_subexpression_elimination bool, 2 do_constant_folding bool,
    6 max_folded_constant_in_bytes int64, 4 do_function_inlining bool, 3 opt_level Level,
    5 global_jit_level GlobalJitLevel
enum OptimizerOptions.Level: L1 0, L0 -1
enum OptimizerOptions.GlobalJitLevel: DEFAULT 0, OFF -1, ON_1 1, ON_2 2
GraphOptions: 2 enable_recv_scheduling bool, 3 optimizer_options OptimizerOptions,
    4 build_cost_model int64, 9 build_cost_model_after int64, 5 infer_shapes bool,
    6 place_pruned_graph bool, 7 enable_bfloat16_sendrecv bool, 8 timeline_step int32,
    10 rewrite_options RewriterConfig
ThreadPoolOptionProto: 1 num_threads int32, 2 global_name string
RPCOptions: 1 use_rpc_for_inprocess_master bool, 2 compression_algorithm string,
    3 compression_level int32, 4 cache_rpc_response bool,
    5 disable_session_connection_sharing bool
"""

REWRITERS = """
RewriterConfig: 1 layout_optimizer Toggle, 3 constant_folding Toggle,
    13 shape_optimization Toggle, 14 remapping Toggle, 24 common_subgraph_elimination Toggle,
    7 arithmetic_optimization Toggle, 8 dependency_optimization Toggle,
    9 loop_optimization Toggle, 10 function_optimization Toggle, 11 debug_stripper Toggle,
    2 disable_model_pruning bool, 15 scoped_allocator_optimization Toggle,
    18 pin_to_host_optimization Toggle, 22 implementation_selector Toggle,
    23 auto_mixed_precision Toggle, 19 disable_meta_optimizer bool,
    12 meta_optimizer_iterations NumIterationsType, 17 min_graph_nodes int32,
    4 memory_optimization MemOptType, 6 memory_optimizer_target_node_name_scope string,
    20 meta_optimizer_timeout_ms int64, 5 auto_parallel AutoParallelOptions,
    21 fail_on_optimizer_errors bool, 16 scoped_allocator_opts ScopedAllocatorOptions,
    100 optimizers *string, 200 custom_optimizers *CustomGraphOptimizer,
    300 inter_optimizer_verifier_config VerifierConfig,
    301 post_optimization_verifier_config VerifierConfig
enum RewriterConfig.Toggle: DEFAULT 0, ON 1, OFF 2, AGGRESSIVE 3
enum RewriterConfig.NumIterationsType: DEFAULT_NUM_ITERS 0, ONE 1, TWO 2
enum RewriterConfig.MemOptType: DEFAULT_MEM_OPT 0, NO_MEM_OPT 1, MANUAL 2, SWAPPING_HEURISTICS 4,
    RECOMPUTATION_HEURISTICS 5, SCHEDULING_HEURISTICS 6, HEURISTICS 3
RewriterConfig.CustomGraphOptimizer: 1 name string, 2 parameter_map string:AttrValue
AutoParallelOptions: 1 enable bool, 2 num_replicas int32
ScopedAllocatorOptions: 1 enable_op *string
VerifierConfig: 1 verification_timeout_in_ms int64, 2 structure_verifier Toggle
enum VerifierConfig.Toggle: DEFAULT 0, ON 1, OFF 2
"""

RUNS = """
RunOptions: 1 trace_level TraceLevel, 2 timeout_in_ms int64, 3 inter_op_thread_pool int32,
    5 output_partition_graphs bool, 6 debug_options DebugOptions,
    7 report_tensor_allocations_upon_oom bool, 8 experimental Experimental
enum RunOptions.TraceLevel: NO_TRACE 0, SOFTWARE_TRACE 1, HARDWARE_TRACE 2, FULL_TRACE 3
RunOptions.Experimental: 1 collective_graph_key int64, 2 use_run_handler_pool bool
DebugOptions: 4 debug_tensor_watch_opts *DebugTensorWatch, 10 global_step int64,
    11 reset_disk_byte_usage bool
DebugTensorWatch: 1 node_name string, 2 output_slot int32, 3 debug_ops *string,
    4 debug_urls *string, 5 tolerate_debug_op_creation_failures bool
CallableOptions: 1 feed *string, 2 fetch *string, 3 target *string, 4 run_options RunOptions,
    5 tensor_connection *TensorConnection, 6 feed_devices string:string,
    7 fetch_devices string:string, 8 fetch_skip_sync bool
TensorConnection: 1 from_tensor string, 2 to_tensor string
RunMetadata: 1 step_stats StepStats, 2 cost_graph CostGraphDef, 3 partition_graphs *GraphDef,
    4 function_graphs *FunctionGraphs
RunMetadata.FunctionGraphs: 1 partition_graphs *GraphDef, 2 pre_optimization_graph GraphDef,
    3 post_optimization_graph GraphDef
"""

STEP_STATISTICS = """
StepStats: 1 dev_stats *DeviceStepStats
DeviceStepStats: 1 device string, 2 node_stats *NodeExecStats, 3 thread_names uint32:string
NodeExecStats: 1 node_name string, 2 all_start_micros int64, 3 op_start_rel_micros int64,
    4 op_end_rel_micros int64, 5 all_end_rel_micros int64, 6 memory *AllocatorMemoryUsed,
    7 output *NodeOutput, 8 timeline_label string, 9 scheduled_micros int64, 10 thread_id uint32,
    11 referenced_tensor *AllocationDescription, 12 memory_stats MemoryStats,
    13 all_start_nanos int64, 14 op_start_rel_nanos int64, 15 op_end_rel_nanos int64,
    16 all_end_rel_nanos int64, 17 scheduled_nanos int64
AllocatorMemoryUsed: 1 allocator_name string, 2 total_bytes int64, 3 peak_bytes int64,
    4 live_bytes int64, 6 allocation_records *AllocationRecord, 5 allocator_bytes_in_use int64
AllocationRecord: 1 alloc_micros int64, 2 alloc_bytes int64
NodeOutput: 1 slot int32, 3 tensor_description TensorDescription
MemoryStats: 1 temp_memory_size int64, 3 persistent_memory_size int64,
    5 persistent_tensor_alloc_ids *int64, 2 device_temp_memory_size int64,
    4 device_persistent_memory_size int64, 6 device_persistent_tensor_alloc_ids *int64
TensorDescription: 1 dtype DataType, 2 shape TensorShapeProto,
    4 allocation_description AllocationDescription
AllocationDescription: 1 requested_bytes int64, 2 allocated_bytes int64, 3 allocator_name string,
    4 allocation_id int64, 5 has_single_reference bool, 6 ptr uint64
CostGraphDef: 1 node *Node
CostGraphDef.Node: 1 name string, 2 device string, 3 id int32, 4 input_info *InputInfo,
    5 output_info *OutputInfo, 6 temporary_memory_size int64, 12 persistent_memory_size int64,
    10 host_temp_memory_size int64, 11 device_temp_memory_size int64,
    16 device_persistent_memory_size int64, 9 compute_cost int64, 14 compute_time int64,
    15 memory_time int64, 7 is_final bool, 8 control_input *int32, 17 inaccurate bool
CostGraphDef.Node.InputInfo: 1 preceding_node int32, 2 preceding_port int32
CostGraphDef.Node.OutputInfo: 1 size int64, 2 alias_input_port int64, 3 shape TensorShapeProto,
    4 dtype DataType
"""

CLUSTERS = """
ClusterDef: 1 job *JobDef
JobDef: 1 name string, 2 tasks int32:string
ServerDef: 1 cluster ClusterDef, 2 job_name string, 3 task_index int32,
    4 default_session_config ConfigProto, 5 protocol string, 6 port int32
DeviceAttributes: 1 name string, 2 device_type string, 4 memory_limit int64,
    5 locality DeviceLocality, 6 incarnation fixed64, 7 physical_device_desc string
DeviceLocality: 1 bus_id int32, 2 numa_node int32, 3 links LocalLinks
LocalLinks: 1 link *InterconnectLink
InterconnectLink: 1 device_id int32, 2 type string, 3 strength int32
"""

PROFILES = """
TFProfTensorProto: 1 dtype DataType, 2 value_double *double, 3 value_int64 *int64,
    4 value_str *string
GraphNodeProto: 1 name string, 15 tensor_value TFProfTensorProto, 21 run_count int64,
    2 exec_micros int64, 17 accelerator_exec_micros int64, 18 cpu_exec_micros int64,
    3 requested_bytes int64, 24 peak_bytes int64, 25 residual_bytes int64, 26 output_bytes int64,
    4 parameters int64, 13 float_ops int64, 10 devices *string, 23 total_definition_count int64,
    22 total_run_count int64, 6 total_exec_micros int64, 19 total_accelerator_exec_micros int64,
    20 total_cpu_exec_micros int64, 7 total_requested_bytes int64, 27 total_peak_bytes int64,
    28 total_residual_bytes int64, 29 total_output_bytes int64, 8 total_parameters int64,
    14 total_float_ops int64, 11 shapes *TensorShapeProto, 16 input_shapes int32:TensorShapeProto,
    12 children *GraphNodeProto
MultiGraphNodeProto: 1 name string, 2 exec_micros int64, 12 accelerator_exec_micros int64,
    13 cpu_exec_micros int64, 3 requested_bytes int64, 16 peak_bytes int64,
    17 residual_bytes int64, 18 output_bytes int64, 4 parameters int64, 5 float_ops int64,
    6 total_exec_micros int64, 14 total_accelerator_exec_micros int64,
    15 total_cpu_exec_micros int64, 7 total_requested_bytes int64, 19 total_peak_bytes int64,
    20 total_residual_bytes int64, 21 total_output_bytes int64, 8 total_parameters int64,
    9 total_float_ops int64, 10 graph_nodes *GraphNodeProto, 11 children *MultiGraphNodeProto
"""

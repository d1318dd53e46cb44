"""`tf.test`: base class and helpers for the tests of programs."""

from gpugraph.library.testing import (
    Benchmark as Benchmark, StubOutForTesting as StubOutForTesting, TestCase as TestCase,
    assert_equal_graph_def as assert_equal_graph_def, benchmark_config as benchmark_config,
    compute_gradient as compute_gradient,
    create_local_cluster as create_local_cluster,
    compute_gradient_error as compute_gradient_error, get_temp_dir as get_temp_dir,
    gpu_device_name as gpu_device_name, is_built_with_cuda as is_built_with_cuda,
    is_built_with_gpu_support as is_built_with_gpu_support,
    is_built_with_rocm as is_built_with_rocm, is_built_with_xla as is_built_with_xla,
    is_gpu_available as is_gpu_available, main as main, mock as mock,
    test_src_dir_path as test_src_dir_path,
)

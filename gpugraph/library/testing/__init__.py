"""Support for tests of programs: a test case with sessions and comparisons, and gradient checks."""

from __future__ import annotations

from gpugraph.library.testing.benchmarks import (
    Benchmark as Benchmark,
    benchmark_config as benchmark_config,
)
from gpugraph.library.testing.gradient_checks import (
    compute_gradient as compute_gradient,
    compute_gradient_error as compute_gradient_error,
)
from gpugraph.library.testing.graph_def_comparison import (
    assert_equal_graph_def as assert_equal_graph_def,
)
from gpugraph.library.testing.lazy_mock import mock as mock
from gpugraph.library.testing.local_clusters import create_local_cluster as create_local_cluster
from gpugraph.library.testing.session_test_case import TestCase as TestCase, main as main
from gpugraph.library.testing.stub_out import StubOutForTesting as StubOutForTesting
from gpugraph.library.testing.temp_dir_and_devices import (
    get_temp_dir as get_temp_dir,
    gpu_device_name as gpu_device_name,
    is_built_with_cuda as is_built_with_cuda,
    is_built_with_gpu_support as is_built_with_gpu_support,
    is_built_with_rocm as is_built_with_rocm,
    is_built_with_xla as is_built_with_xla,
    is_gpu_available as is_gpu_available,
    test_src_dir_path as test_src_dir_path,
)

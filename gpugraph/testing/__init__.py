"""Tests of programs: a test case with sessions and comparisons, and gradients by differences."""

from __future__ import annotations

from gpugraph.testing.gradient_checks import compute_gradient, compute_gradient_error
from gpugraph.testing.lazy_mock import mock
from gpugraph.testing.session_test_case import TestCase, main
from gpugraph.testing.temp_dir_and_devices import (
    get_temp_dir,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_built_with_xla,
    is_gpu_available,
    test_src_dir_path,
)

__all__ = [
    "TestCase",
    "compute_gradient",
    "compute_gradient_error",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
]

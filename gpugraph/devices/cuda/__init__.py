"""CUDA GPUs: kernels from their sources, streams, captures, on CuPy's or the emulated driver."""

from __future__ import annotations

"""CUDA GPUs: kernels from their sources, streams and captures, on CuPy's or the emulated driver."""

from __future__ import annotations

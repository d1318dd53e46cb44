"""CUDA GPUs: text to kernels, streams, captured work; over a driver: CuPy's or the host's."""

from __future__ import annotations

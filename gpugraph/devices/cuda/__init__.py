"""CUDA GPUs: kernels compiled from sources, streams and CUDA graphs. The driver is the CUDA driver
(through CuPy) or an emulation.
"""

from __future__ import annotations

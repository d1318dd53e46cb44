"""WAV files of 16 bits per sample, as bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_PCM, _BITS = 1, 16


def encoded_wav(samples: Any, rate: int) -> bytes:
    """Encode float samples [frames, channels] in [-1, 1) as a WAV file of 16 bits per sample.

    Samples outside this range are clipped. Halves are rounded away from zero.

    Args:
      rate: the number of frames per second.
    """
    scaled = samples.astype(np.float32) * np.float32(1 << 15)
    scaled += np.copysign(np.float32(0.5), scaled)
    np.clip(scaled, -(1 << 15), (1 << 15) - 1, out=scaled)
    if scaled.size and np.isnan(scaled.max()):
        scaled[np.isnan(scaled)] = 0
    data = scaled.astype("<i2").tobytes()  # drops fractions
    frame = samples.shape[1] * _BITS // 8
    header = _HEADER.pack(
        *(b"RIFF", len(data) + _HEADER.size - 8, b"WAVE"),
        *(b"fmt ", 16, _PCM, samples.shape[1], rate, rate * frame, frame, _BITS),
        *(b"data", len(data)),
    )
    return header + data

"""Which version this is. TensorFlow's names for it say what is so of this package."""

from __future__ import annotations

import sys

VERSION = "0.1.0"
"""The version of gpugraph; the behaviour is TensorFlow 1.15's."""

GIT_VERSION = f"gpugraph-{VERSION}"
"""What it was made from: this version of gpugraph."""

COMPILER_VERSION = sys.version.partition("[")[2].rstrip("]")
"""The compiler that made the Python interpreter, there being no other compiled part."""

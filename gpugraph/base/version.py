"""The version of this package, also under TensorFlow's names for it."""

from __future__ import annotations

import sys

VERSION = "0.1.0"
"""The version of gpugraph; the behaviour is TensorFlow 1.15's."""

TENSORFLOW_VERSION = "1.15.0"
"""The version of TensorFlow whose file formats these are, for readers of files."""

KERAS_VERSION = "2.2.4-tf"
"""The version of Keras in TensorFlow 1.15, for readers of its files."""

GIT_VERSION = f"gpugraph-{VERSION}"
"""The source version: this version of gpugraph."""

COMPILER_VERSION = sys.version.partition("[")[2].rstrip("]")
"""The compiler of the Python interpreter, since there is no other compiled part."""

GRAPH_DEF_VERSION = 134
"""The version of the graphs that TensorFlow 1.15 writes."""

GRAPH_DEF_VERSION_MIN_CONSUMER = 0
"""The oldest consumer that such graphs allow."""

GRAPH_DEF_VERSION_MIN_PRODUCER = 0
"""The oldest version of graphs that 1.15 reads."""

CXX11_ABI_FLAG = 0
"""The value in the packages of 1.15; there are no C++ ops to compile with it here."""

MONOLITHIC_BUILD = 0
"""The value in the packages of 1.15, likewise without use here."""

"""The version of this package, also under the names that TensorFlow uses."""

from __future__ import annotations

import sys

VERSION = "0.2.0"
"""The version of gpugraph; the behaviour is TensorFlow 1.15's."""

TENSORFLOW_VERSION = "1.15.0"
"""The TensorFlow version whose file formats this package writes.

Files that record their version contain it.
"""

KERAS_VERSION = "2.2.4-tf"
"""The version of Keras in TensorFlow 1.15, which is stored in Keras files."""

GIT_VERSION = f"gpugraph-{VERSION}"
"""The source version; here derived from `VERSION`, not from git."""

COMPILER_VERSION = sys.version.partition("[")[2].rstrip("]")
"""The compiler of the Python interpreter: gpugraph itself has no compiled part."""

GRAPH_DEF_VERSION = 134
"""The version number in the graphs that TensorFlow 1.15 writes."""

GRAPH_DEF_VERSION_MIN_CONSUMER = 0
"""The oldest version of a consumer that such graphs allow."""

GRAPH_DEF_VERSION_MIN_PRODUCER = 0
"""The oldest version of graphs that TensorFlow 1.15 reads."""

CXX11_ABI_FLAG = 0
"""The value in TensorFlow 1.15's packages.

Nothing uses it, since no C++ ops can be compiled for gpugraph.
"""

MONOLITHIC_BUILD = 0
"""The value in TensorFlow 1.15's packages; unused, as `CXX11_ABI_FLAG`."""

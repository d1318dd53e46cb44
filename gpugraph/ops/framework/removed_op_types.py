"""Op types that TensorFlow 1.15 no longer makes, and what it says to use instead.

TensorFlow keeps the names of removed op types for old graphs. Whoever adds such an operation to
a graph of its own version gets an UnimplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gpugraph.base.errors import UnimplementedError
from gpugraph.base.version import GRAPH_DEF_VERSION

_REMOVED = """
AdjustContrast 2 AdjustContrastv2 instead
AudioSummary 15 AudioSummaryV2.
BatchCholeskyGrad 13 CholeskyGrad instead.
BatchNormWithGlobalNormalization 9 tf.nn.batch_normalization()
BatchNormWithGlobalNormalizationGrad 9 tf.nn.batch_normalization()
BatchSelfAdjointEig 11 SelfAdjointEigV2 instead.
Conv3DBackpropFilter 10 Conv3DBackpropFilterV2
Conv3DBackpropInput 10 Conv3DBackpropInputV2
RandomPoisson 25 RandomPoissonV2
SelfAdjointEig 11 SelfAdjointEigV2 instead.
TopK 7 TopKV2 instead
"""

_OTHER_WORDS = {
    "PlaceholderV2": (23, "Placeholder now behaves the same as PlaceholderV2."),
    "QuantizeAndDequantize": (22, "Replaced by QuantizeAndDequantizeV2"),
    "RandomCrop": (8, "Random crop is now pure Python"),
    "RandomPoisson": (25, "Replaced by RandomPoissonV2"),
}


_ARRAY_TYPES = "Close Concat Gather Grad Read Scatter Size Split Write"


def _removed_types() -> dict[str, tuple[int, str]]:
    table = {
        "TensorArray": (16, "Use TensorArrayV3"),
        "TensorArrayV2": (26, "Use TensorArrayV3"),
        "TensorArrayPack": (16, "Use TensorArrayGatherV3 with RangeOp"),
        "TensorArrayUnpack": (20, "Use TensorArrayScatterV3 with RangeOp"),
    }
    for part in _ARRAY_TYPES.split():
        named = "Grad" if part in ("Concat", "Scatter") else part
        table[f"TensorArray{part}"] = (19 if part == "Scatter" else 16, f"Use TensorArray{named}V3")
        if part != "Concat":  # never removed
            table[f"TensorArray{part}V2"] = 26, f"Use TensorArray{part}V3"
    for line in _REMOVED.strip().splitlines():
        op_type, version, words = line.split(" ", 2)
        table[op_type] = int(version), f"Use {words}"
    return table | _OTHER_WORDS


REMOVED = _removed_types()
"""Op type -> the version of graphs that removed it, and what TensorFlow says to use."""


def removed_function(op_type: str) -> Callable[..., NoReturn]:
    """What stands for the function of a removed op type: each call is an UnimplementedError."""
    version, words = REMOVED[op_type]

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UnimplementedError(
            None,
            None,
            f"Op {op_type} is not available in GraphDef version {GRAPH_DEF_VERSION}. It has been "
            f"removed in version {version}. {words}",
        )

    refuse.__name__ = refuse.__qualname__ = op_type
    refuse.__doc__ = f"Removed from graphs of version {version} on. {words}"
    return refuse

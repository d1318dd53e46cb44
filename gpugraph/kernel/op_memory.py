"""The use of memory by an op type: outputs that share memory with inputs, and inputs and outputs in
host memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class OpMemory:
    """The use of memory by an op type. Inputs and outputs are identified by their indices.

    Args:
      alias: for each output, the input whose memory the output may overwrite if nothing reads that
        input afterwards.
      view: for each output, the input that has the same bytes. If the output and this input share
        memory, no kernel runs, unless the op is stateful. The kernel of a stateful op then gets the
        same array as input and output.
      writes: the ref inputs whose variable this op changes.
      host_inputs: the inputs that the kernel reads in host memory.
      host_outputs: the outputs that the kernel writes in host memory.
      allows_uninitialized: whether the op runs on a ref input whose variable has no value yet.
      writes_last: whether the kernel writes outputs only after everything that can fail.
    """

    alias: Mapping[int, int] = field(default_factory=dict)
    view: Mapping[int, int] = field(default_factory=dict)
    writes: Collection[int] = frozenset()
    host_inputs: Collection[int] = frozenset()
    host_outputs: Collection[int] = frozenset()
    allows_uninitialized: bool = False
    writes_last: bool = False


SEPARATE = OpMemory()
"""Each input and output has separate memory on the op's device."""

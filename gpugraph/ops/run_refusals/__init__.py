"""The error messages of TensorFlow's kernels for invalid inputs.

In gpugraph, shape inference rejects invalid inputs, both at graph construction and in a run. In a
run, these modules replace the message of shape inference with the message of TensorFlow's kernel,
if the two differ.
"""

from __future__ import annotations

from gpugraph.graph.inference_context import InferContext
from gpugraph.ops.run_refusals.array_refusals import ARRAY_REFUSALS
from gpugraph.ops.run_refusals.network_refusals import NETWORK_REFUSALS
from gpugraph.ops.run_refusals.number_refusals import NUMBER_REFUSALS
from gpugraph.ops.run_refusals.refusal_rules import RunRefusal, refused_op
from gpugraph.ops.run_refusals.sparse_refusals import SPARSE_REFUSALS

_RULES = {**ARRAY_REFUSALS, **NUMBER_REFUSALS, **NETWORK_REFUSALS, **SPARSE_REFUSALS}


def run_refusal(context: InferContext, name: str, op_type: str) -> RunRefusal | None:
    """Return the error of TensorFlow's kernel for inputs that shape inference rejected in a run.

    If the kernel has no check for these inputs, return None.
    """
    rules = _RULES.get(op_type)
    op = refused_op(context, name, op_type) if rules else None
    if op is None or rules is None:
        return None
    for rule in rules:
        try:
            refusal = rule(op)
        except (IndexError, KeyError, TypeError, ValueError):
            # the check needs a property of the inputs that an earlier check would have rejected
            continue
        if refusal is not None:
            return refusal if isinstance(refusal, RunRefusal) else RunRefusal(refusal)
    return None

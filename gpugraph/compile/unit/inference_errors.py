"""Conversion of errors of shape functions to errors that name the node whose inputs were
rejected.
"""

from __future__ import annotations

from gpugraph.base.errors import OpError
from gpugraph.base.misfit import INPUT_NAME, misfit_of
from gpugraph.base.shapes import shape_text
from gpugraph.compile.unit.compile_unit import at_node
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.run_refusals import run_refusal


def inference_error(node: Node, context: InferContext, error: Exception) -> OpError:
    """Return the error of an op whose shape function raised `error` for these inputs. Its message
    is the kernel's message for such inputs or, if there is none, the message of graph construction.
    """
    refusal = run_refusal(context, node.name, node.type)
    if refusal is not None:
        return refusal.error_class(node.node_def, None, refusal.words + at_node(node))
    misfit = misfit_of(error)
    message = misfit.in_run
    if INPUT_NAME in message:
        message = message.replace(INPUT_NAME, node.input_names()[0])
    if not message:
        shapes = ", ".join(map(shape_text, context.shapes))
        of_op = f"'{node.name}' (op: '{node.type}') with input shapes: {shapes}"
        message = f"{misfit.in_graph} for {of_op}{misfit.behind}"
    return misfit.error_class(node.node_def, None, message + at_node(node))

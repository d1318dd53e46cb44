"""`tf.contrib.summary`: summaries that a run writes to a file as soon as it computes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import int64
from gpugraph.formats import messages_pb2
from gpugraph.formats.summary_bytes import plugin_metadata
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import (
    get_default_graph,
    get_default_session,
    name_scope,
)
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.event_summaries.summary_state import (
    SUMMARIES,
    SummaryWriter,
    default_writer,
    summary_writer_initializer_op,
    write_summary,
)
from gpugraph.library.summary.summary_functions import summary_scope
from gpugraph.library.train.global_step import get_or_create_global_step
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.control.py_func import py_func
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.summaries.audio_summary_op import audio_summary_op
from gpugraph.ops.summaries.image_summary_op import image_summary_op
from gpugraph.ops.summaries.scalar_and_histogram_summary_ops import (
    histogram_summary_op,
    scalar_summary_op,
)
from gpugraph.ops.summaries.tensor_summary_ops import tensor_summary_op


def _written(
    name: str, tensor: Any, family: str | None, step: Any, summarize: Callable[[str, str], Any]
) -> Any:
    """Add an op that writes a summary to the default writer.

    Args:
      summarize: builds the summary's op. This function receives the tag and the name scope.
    """
    outer = get_default_graph().get_name_scope()

    def ops() -> Any:
        with name_scope(f"{outer}/" if outer else None):
            with summary_scope(name, family, values=[tensor]) as (tag, scope):
                return summarize(tag, scope)

    return write_summary(ops, chosen_step(step), is_default=False)


def chosen_step(step: Any) -> Any:
    """Return a step as a tensor. If `step` is None, return the global step."""
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, Tensor) else convert_to_tensor(step, dtype=int64)


def generic(
    name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None
) -> Any:
    """Write a whole tensor, if summaries are recorded. Return a bool tensor. A run writes the
    summary when it computes this tensor.

    Args:
      metadata: a SummaryMetadata message, or its bytes.
      step: by default the global step.
    """
    content = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
    about = plugin_metadata("", "", "") if content is None else content
    return _written(
        name, tensor, family, step, lambda tag, s: tensor_summary_op(tag, tensor, about, name=s)
    )


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Write a number, if summaries are recorded. Return a bool tensor. A run writes the summary
    when it computes this tensor.
    """
    return _written(
        name, tensor, family, step, lambda tag, scope: scalar_summary_op(tag, tensor, name=scope)
    )


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Write the distribution of values, if summaries are recorded. Return a bool tensor. A run
    writes the summary when it computes this tensor.
    """
    return _written(
        name, tensor, family, step, lambda tag, scope: histogram_summary_op(tag, tensor, name=scope)
    )


def image(
    name: str,
    tensor: Any,
    bad_color: Any = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Write the first images of a batch, if summaries are recorded. Return a bool tensor. A run
    writes the summary when it computes this tensor.

    Args:
      bad_color: has no effect. Pixels that are not finite are red.
    """
    del bad_color
    return _written(
        name,
        tensor,
        family,
        step,
        lambda tag, scope: image_summary_op(tag, tensor, max_images=max_images, name=scope),
    )


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Write the first recordings of a batch, if summaries are recorded. Return a bool tensor. A run
    writes the summary when it computes this tensor.
    """
    return _written(
        name,
        tensor,
        family,
        step,
        lambda tag, scope: audio_summary_op(
            tag, tensor, sample_rate, max_outputs=max_outputs, name=scope
        ),
    )


def graph(param: Any, step: Any = None, name: str | None = None) -> Any:
    """Return the operation that writes a graph, for TensorBoard's graph page.

    Args:
      param: a Graph, a GraphDef, or its bytes as a string tensor.
    """
    writer = default_writer()
    if writer is None or writer.is_noop:
        return no_op()
    if not isinstance(param, (Graph, Tensor)) and not hasattr(param, "SerializeToString"):
        raise TypeError(f"The argument 'param' must be a tf.Graph or tf.Tensor, not {param!r}")

    def write(content: bytes, step: Any) -> None:
        message = messages_pb2.GraphDef.FromString(content)
        writer.file.add_graph(None, int(step), graph_def=message)

    if isinstance(param, Graph):
        content: Any = param.as_graph_def(add_shapes=True).SerializeToString()
    else:
        content = param if isinstance(param, Tensor) else param.SerializeToString()
    return py_func(write, [content, chosen_step(step)], [], name=name)


def import_event(tensor: Any, name: str | None = None) -> Any:
    """Return the operation that writes an Event message, given the serialized message as a string
    tensor.
    """
    writer = default_writer()
    if writer is None or writer.is_noop:
        return no_op()

    def write(content: bytes) -> None:
        writer.file.add_event(messages_pb2.Event.FromString(content))

    written = py_func(write, [tensor], [], name=name)
    get_default_graph().add_to_collection(SUMMARIES, written)
    return written


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Any:
    """Return the operation that writes the buffered events of a writer, by default of the default
    writer.
    """
    del name
    target = writer or default_writer()
    return no_op() if target is None else target.flush()


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Return the folder for the summaries of the evaluation `name`."""
    return os.path.join(model_dir, "eval" if not name else f"eval_{name}")


def initialize(graph: Any = None, session: Any = None) -> None:
    """Create the event files of this graph's writers by a run of `session`.

    Raises RuntimeError if there is no default writer, and ValueError if there is no session.

    Args:
      graph: a Graph or GraphDef that is also written to the file.
      session: by default the default session.
    """
    if default_writer() is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    runner = session or get_default_session()
    if runner is None:
        raise ValueError("Argument `session must be passed if no default session exists")
    runner.run(summary_writer_initializer_op())
    if graph is not None:
        default_writer().file.add_graph(  # type: ignore[union-attr]
            **{"graph" if isinstance(graph, Graph) else "graph_def": graph}
        )

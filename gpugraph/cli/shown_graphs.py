"""The sections about a graph that `gpugraph show` prints: signatures, variables, ops, and more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import OpError
from gpugraph.base.shapes import as_shape
from gpugraph.building.graph_files.import_graph_def import import_graph_def
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.library.saved_models.model_assets import asset_messages

_VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp"})
_REFUSALS = (OpError, ValueError, TypeError, KeyError)


class ShownGraph:
    """The lines that describe one graph.

    Args:
      graph_def: the graph.
      meta_graph: the MetaGraphDef that contains the graph, or None.
    """

    def __init__(self, graph_def: Any, meta_graph: Any = None) -> None:
        self._graph_def = graph_def
        self._meta_graph = meta_graph
        self._functions = frozenset(
            function.signature.name for function in graph_def.library.function
        )
        self._op_counts = Counter(node.op for node in graph_def.node)
        self._failing, self._import_error = self._import()

    @property
    def cannot_run(self) -> bool:
        """Whether gpugraph can't import the graph, or can't run one of its ops."""
        return bool(self._failing or self._import_error)

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Yield (title, lines) for each section of the output."""
        if self._meta_graph is not None:
            for key in sorted(self._meta_graph.signature_def):
                yield self._signature(key, self._meta_graph.signature_def[key])
        inputs = [node for node in self._graph_def.node if node.op.startswith("Placeholder")]
        yield f"placeholders: {len(inputs)}", _columns(_typed(node, "dtype") for node in inputs)
        variables = [node for node in self._graph_def.node if node.op in _VARIABLES]
        yield f"variables: {len(variables)}", _columns(map(self._variable, variables))
        ends = self._ends()
        yield f"outputs that no node consumes: {len(ends)}", ends
        if self._meta_graph is not None:
            yield from self._collections_and_assets(self._meta_graph)
        if self._functions:
            yield f"functions: {len(self._functions)}", sorted(self._functions)
        by_type = self._op_counts.most_common()
        counts = [f"{count:7} {op_type}" for op_type, count in sorted(by_type, key=_by_count)]
        yield f"ops: {len(self._graph_def.node)} nodes of {len(by_type)} types", counts
        yield self._cannot_run()

    def _signature(self, key: str, signature: Any) -> tuple[str, list[str]]:
        rows = [
            (kind, *_info(name, infos[name]))
            for kind, infos in (("input", signature.inputs), ("output", signature.outputs))
            for name in sorted(infos)
        ]
        return f"signature {key} ({signature.method_name or 'no method'})", _columns(rows)

    def _variable(self, node: Any) -> tuple[str, ...]:
        is_trainable = node.name in self._trainable()
        return (*_typed(node, "dtype"), "trainable" if is_trainable else "")

    def _trainable(self) -> frozenset[str]:
        if self._meta_graph is None:
            return frozenset()
        collections = self._meta_graph.collection_def
        if GraphKeys.TRAINABLE_VARIABLES not in collections:
            return frozenset()
        names = set()
        for content in collections[GraphKeys.TRAINABLE_VARIABLES].bytes_list.value:
            try:
                variable = messages_pb2.parse_bytes(messages_pb2.VariableDef, content)
            except ValueError:
                continue
            names.add(variable.variable_name.partition(":")[0])
        return frozenset(names)

    def _ends(self) -> list[str]:
        consumed = {
            text.removeprefix("^").partition(":")[0]
            for node in self._graph_def.node
            for text in node.input
        }
        return [
            f"{node.name}  ({node.op})"
            for node in self._graph_def.node
            if node.name not in consumed and node.op not in _VARIABLES
        ]

    def _collections_and_assets(self, meta_graph: Any) -> Iterator[tuple[str, list[str]]]:
        try:
            assets = _columns((a.filename, a.tensor_info.name) for a in asset_messages(meta_graph))
        except OpError as error:
            assets = [f"not readable: {error.message}"]
        if assets:
            yield f"assets: {len(assets)}", assets
        rows = []
        for key in sorted(meta_graph.collection_def):
            kind = meta_graph.collection_def[key].WhichOneof("kind")
            count = len(getattr(meta_graph.collection_def[key], kind).value) if kind else 0
            rows.append((key, str(count)))
        if rows:
            yield f"collections: {len(rows)}", _columns(rows)

    # -- unsupported parts

    def _import(self) -> tuple[list[Operation], str]:
        """Import the graph. Return the operations that have no kernel. If the import fails, also
        return the text of the error.
        """
        try:
            with Graph().as_default() as graph:
                import_graph_def(
                    self._graph_def, name="", producer_op_list=_producer_ops(self._meta_graph)
                )
        except _REFUSALS as error:
            return [], getattr(error, "message", None) or str(error)
        return [op for op in graph.get_operations() if op._refusal is not None], ""

    def _cannot_run(self) -> tuple[str, list[str]]:
        if self._import_error:
            return "cannot be imported here", [self._import_error]
        if not self._failing:
            return "all ops are here", []
        counts = Counter(op.type for op in self._failing)
        reasons = {op.type: op._refusal.message for op in reversed(self._failing) if op._refusal}
        lines = [f"{counts[kind]:7} {kind}: {reason}" for kind, reason in sorted(reasons.items())]
        return f"cannot run here: {len(self._failing)} nodes of {len(counts)} types", lines


def _producer_ops(meta_graph: Any) -> Any:
    if meta_graph is None or not meta_graph.meta_info_def.HasField("stripped_op_list"):
        return None
    return meta_graph.meta_info_def.stripped_op_list


def _by_count(row: tuple[str, int]) -> tuple[int, str]:
    return -row[1], row[0]


def _typed(node: Any, key: str) -> tuple[str, ...]:
    """Return (name, dtype, shape) of a node, as its attrs state them.

    Args:
      key: the attr that contains the dtype.
    """
    dtype = dtype_text(node.attr[key].type) if key in node.attr else "?"
    return node.name, dtype, shape_text(node.attr["shape"].shape if "shape" in node.attr else None)


def _info(name: str, info: Any) -> tuple[str, ...]:
    encoding = info.WhichOneof("encoding")
    place = info.name
    if encoding == "coo_sparse":
        place = f"SparseTensor of {info.coo_sparse.values_tensor_name}"
    elif encoding != "name":
        place = encoding or "no tensor"
    return name, dtype_text(info.dtype), shape_text(info.tensor_shape), place


def dtype_text(number: int) -> str:
    """Return the name of a dtype, or its number if no dtype has that number."""
    try:
        return as_dtype(number).base_dtype.name
    except (TypeError, KeyError, ValueError):
        return f"dtype {number}"


def shape_text(message: Any) -> str:
    """Return the text of a TensorShapeProto, such as `[2,?]`."""
    if message is None or message.unknown_rank:
        return "of any shape"
    try:
        sizes = as_shape(message).sizes or ()
    except (TypeError, ValueError) as error:
        return f"no shape: {error}"
    return f"[{','.join('?' if size is None else str(size) for size in sizes)}]"


def _columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return one line of text for each row, with the columns aligned."""
    table = [tuple(printable(text) for text in row) for row in rows]
    if not table:
        return []
    widths = [min(60, max(map(len, column))) for column in zip(*table)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths)) for row in table]


def printable(text: str) -> str:
    """Return the text with control characters escaped, so that a terminal does not interpret
    them.
    """
    return "".join(
        letter if letter.isprintable() else repr(letter)[1:-1].replace("\\'", "'")
        for letter in text
    )

"""Ops on tables. A handle, which is in host memory, refers to a table that the session keeps.

Nodes with the same attrs `shared_name` and `container` share a table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.dtypes import ALL, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import UNKNOWN, no_outputs, of_rank
from gpugraph.ops.queues.handle_ops import (
    HOST,
    SHARING,
    Run,
    handle_op,
    held_object,
    infer_handle,
    query_op,
)
from gpugraph.ops.tables.hash_tables import (
    DenseTable,
    MutableTable,
    StaticTable,
    TableTypes,
    check_types,
)
from gpugraph.ops.tables.table_files import columns_of, read_columns

# -- tables


def _types(context: KernelContext) -> TableTypes:
    attrs = context.attrs
    shape = tuple(int(size or 0) for size in as_shape(attrs.get("value_shape", ())).as_list())
    return TableTypes(as_dtype(attrs["key_dtype"]), as_dtype(attrs["value_dtype"]), shape)


def _bind_table(make: Callable[..., MutableTable], context: KernelContext, *arrays: Any) -> Run:
    *keys, handle = arrays
    attrs, types = context.attrs, _types(context)
    name = attrs["shared_name"] or (context.name if attrs["use_node_name_sharing"] else "")
    key = attrs["container"], name or f"{context.name}/private"

    def run() -> None:
        table = context.shared(*key, lambda: make(name or context.name, types, attrs, *keys))
        handle.fill(table)
        check_types(held_object(handle, MutableTable, "table"), types, name or context.name)

    return run


def _of_vectors(name: str, types: TableTypes, _: Any) -> MutableTable:
    if len(types.value_shape) != 1:
        raise invalid_argument(
            f"Default value must be a vector, got shape {shape_text(types.value_shape)}"
        )
    return MutableTable(name, types)


def _dense(name: str, types: TableTypes, attrs: Any, empty: Any, deleted: Any) -> DenseTable:
    return DenseTable(
        name, types, empty, deleted, attrs["initial_num_buckets"], attrs["max_load_factor"]
    )


_TYPE = Attr("type", required=True)
_ATTRS = {**SHARING, "use_node_name_sharing": Attr("bool", False)}
_VALUE_SHAPE = Attr("shape", ())
_DENSE: dict[str, Any] = {
    "value_shape": _VALUE_SHAPE,
    "initial_num_buckets": Attr("int", 131072),
    "max_load_factor": Attr("float", 0.8),
}


def _declare_table(
    op_type: str, make: Callable[..., MutableTable], doc: str, inputs: str = "", **attrs: Any
) -> None:
    key = {"key_dtype": ALL if inputs else _TYPE}
    op(
        op_type, inputs=inputs or (), outputs="table_handle: resource", infer=infer_handle,
        attrs={**_ATTRS, **key, "value_dtype": _TYPE, **attrs},
        memory=OpMemory(host_inputs=(0, 1) if inputs else (), host_outputs=(0,)),
        cpu=Call(make=partial(_bind_table, make), late=True, direct=True), gpu=HOST,
        grad=NO_GRADIENT, stateful=True, doc=doc,
    )  # fmt: skip


_declare_table(
    "HashTableV2", lambda name, types, _: StaticTable(name, types), "A table that is filled once."
)
_declare_table(
    "MutableHashTableV2",
    lambda name, types, _: MutableTable(name, types),
    "A table of scalars, which runs change.",
)
_declare_table(
    "MutableHashTableOfTensorsV2",
    _of_vectors,
    "A table of vectors, which runs change.",
    value_shape=_VALUE_SHAPE,
)
_declare_table(
    "MutableDenseHashTableV2",
    _dense,
    "A table that runs change, and that is exported as buckets.",
    "empty_key: key_dtype, deleted_key: key_dtype",
    **_DENSE,
)


# -- operations on a table


def _table_of(context: KernelContext, handle: Any, keys: int | None, outputs: bool) -> MutableTable:
    """Return the table to which a handle refers. Raises InvalidArgumentError if the node's dtypes
    are not the table's dtypes.

    Args:
      keys: the number of inputs after the handle to check. The first must have the dtype of keys,
        the second the dtype of values.
      outputs: whether the last output must have the dtype of values.
    """
    table = held_object(handle, MutableTable, "table")
    types = table.types[:2]
    actual, expected = list(context.input_types[1:]), list(types[: keys or 0])
    if actual != expected or (outputs and list(context.output_types)[-1] != types[1]):
        has, needs = (
            ", ".join(["resource", *(t.name for t in side)]) for side in (actual, expected)
        )
        results = [t.name for t in context.output_types]
        raise invalid_argument(
            f"Signature mismatch, have: {has}->{', '.join(results)} expected: {needs}->"
            f"{', '.join(t.name for t in types[-len(results) :]) if results else ''}"
        )
    return table


def _bind_find(context: KernelContext, handle: Any, keys: Any, default: Any) -> Run:
    return lambda: [_table_of(context, handle, 2, True).find(keys, default)]


def _bind_export(context: KernelContext, handle: Any) -> Run:
    return lambda: _table_of(context, handle, None, True).export()


def _bind_method(method: str, count: int) -> Callable[..., Run]:
    """Return a function that binds an op. The op calls the method `method` of its table with its
    inputs.

    Args:
      count: the number of inputs after the handle.
    """

    def bind(context: KernelContext, handle: Any, *arrays: Any) -> Run:
        return lambda: getattr(_table_of(context, handle, count, False), method)(*arrays)

    return bind


def _bind_file(context: KernelContext, handle: Any, filename: Any) -> Run:
    attrs = context.attrs

    def read() -> None:
        table = held_object(handle, MutableTable, "table")
        columns = columns_of(attrs["key_index"], attrs["value_index"], *table.types[:2])
        path, delimiter = os.fsdecode(filename[()]), _bytes(attrs["delimiter"])
        table.initialize(*read_columns(path, delimiter, attrs["vocab_size"], columns))

    return read


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _value_shape(context: InferContext) -> TensorShape | None:
    """Return the shape of a table's value, or None if it is unknown. The node that creates the
    table determines the shape.
    """
    op_type, attrs = context.maker(0) or ("", {})
    return as_shape(attrs.get("value_shape", ())) if "HashTable" in op_type else None


def _infer_find(context: InferContext) -> Sequence[TensorShape]:
    op_type, _ = context.maker(0) or ("", {})
    shape = _value_shape(context)
    if shape is None or "Dense" in op_type:  # keys may be vectors there
        return [UNKNOWN]
    return [context.shapes[1].concatenate(shape)]


def _infer_export(context: InferContext) -> Sequence[TensorShape]:
    op_type, _ = context.maker(0) or ("", {})
    shape = _value_shape(context)
    if shape is None or "Dense" in op_type:
        return [UNKNOWN, UNKNOWN]
    rows = TensorShape.of((None,))
    return [rows, rows.concatenate(shape)]


def _infer_pairs(context: InferContext) -> Sequence[TensorShape]:
    """Raise an error unless there are as many values as keys and, except for dense tables, the keys
    are a vector.
    """
    op_type, _ = context.maker(0) or ("", {})
    if "HashTable" in op_type and "Dense" not in op_type:
        (keys,) = of_rank(context.shapes[1], 1, "keys")
        count = context.shapes[2].sizes[0] if context.shapes[2].sizes else None
        if None not in (keys, count) and keys != count:
            raise Misfit(
                f"Dimensions must be equal, but are {keys} and {count}",
                f"Expected shape [{keys}] for value, got [{count}]",
            )
    return no_outputs(context)


def _infer_file(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "filename")
    return no_outputs(context)


_FIND = {"Tin": ALL, "Tout": ALL}


def _reading_op(op_type: str, bind: Callable[..., Run], signature: str, **declaration: Any) -> None:
    """Declare an op that reads a table and whose output sizes are known only in a run."""
    inputs, _, outputs = signature.partition(" -> ")
    kernel = Call(make=bind, late=True, dynamic=True, direct=True)
    host = tuple(range(inputs.count(":")))
    op(
        op_type, inputs=inputs, outputs=outputs, cpu=kernel, gpu=HOST,
        memory=OpMemory(host_inputs=host),
        grad=NO_GRADIENT, stateful=True, **declaration,
    )  # fmt: skip


_reading_op(
    "LookupTableFindV2", _bind_find,
    "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout",
    attrs=_FIND, infer=_infer_find,
    doc="The values of the given keys. A key that the table lacks has the default value.",
)  # fmt: skip
_reading_op(
    "LookupTableExportV2", _bind_export, "table_handle: resource -> keys: Tkeys, values: Tvalues",
    attrs={"Tkeys": _TYPE, "Tvalues": _TYPE}, infer=_infer_export,
    doc="All keys of a table and their values.",
)  # fmt: skip
query_op(
    "LookupTableSizeV2",
    "size: int64",
    lambda handle: held_object(handle, MutableTable, "table").size(),
    "The number of keys of a table.",
    inputs="table_handle: resource",
)
for _type, _method, _infer, _doc in (
    ("LookupTableInsertV2", "insert", no_outputs, "Sets the values of keys."),
    ("LookupTableImportV2", "replace", _infer_pairs, "Replaces the contents of a table."),
    ("InitializeTableV2", "initialize", _infer_pairs, "Fills a table, once."),
):
    _types_of = {"Tkey": ALL, "Tval": ALL} if _type == "InitializeTableV2" else _FIND
    _key, _value = _types_of
    handle_op(
        _type,
        _bind_method(_method, 2),
        _doc,
        inputs=f"table_handle: resource, keys: {_key}, values: {_value}",
        attrs=_types_of,
        infer=_infer,
    )
handle_op(
    "LookupTableRemoveV2",
    _bind_method("remove", 1),
    "Removes keys of a table.",
    inputs="table_handle: resource, keys: Tin",
    attrs={"Tin": ALL},
)
handle_op(
    "InitializeTableFromTextFileV2",
    _bind_file,
    "Fills a table, once, from the lines of a text file.",
    inputs="table_handle: resource, filename: string",
    infer=_infer_file,
    attrs={
        "key_index": Attr("int", required=True, minimum=-2),
        "value_index": Attr("int", required=True, minimum=-2),
        "vocab_size": Attr("int", -1, minimum=-1),
        "delimiter": Attr("string", "\t"),
    },
)

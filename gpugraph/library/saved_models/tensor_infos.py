"""Conversion of tensors to TensorInfos, and of TensorInfos to tensors."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import graph_or_default
from gpugraph.graph.client.scoped_names import prepend_name_scope
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def build_tensor_info(tensor: Any) -> Any:
    """Return a TensorInfo with the name, dtype and shape of a Tensor, a variable or a SparseTensor.

    Raises TypeError if the value is not one of these.
    """
    is_sparse = isinstance(tensor, SparseTensor)
    if not is_sparse and not all(hasattr(tensor, name) for name in ("name", "dtype", "get_shape")):
        raise TypeError(f"A TensorInfo is built of a Tensor or a SparseTensor, not of {tensor!r}")
    info = messages_pb2.TensorInfo(dtype=as_dtype(tensor.dtype).as_datatype_enum)
    info.tensor_shape.CopyFrom(tensor.get_shape().as_proto())
    if is_sparse:
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """Return the Tensor or SparseTensor that a TensorInfo names.

    Raises:
      KeyError: there is no such tensor.
      ValueError: the TensorInfo names no tensor, or it names several tensors that do not form a
        SparseTensor.

    Args:
      graph: the graph of the tensor. By default, it is the default graph.
      import_scope: the name scope to which the names are relative.
    """
    graph = graph_or_default(graph)

    def tensor(name: str) -> Any:
        return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return SparseTensor(
            tensor(sparse.indices_tensor_name),
            tensor(sparse.values_tensor_name),
            tensor(sparse.dense_shape_tensor_name),
        )
    if encoding == "composite_tensor":
        kind = tensor_info.composite_tensor.type_spec.type_spec_class
        raise ValueError(
            f"Invalid TensorInfo.encoding: {encoding}: values of the class {kind} are not here; "
            "fetch their tensors, which the TensorInfo names in composite_tensor.components"
        )
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")


def element_of_tensor_info(tensor_info: Any, graph: Graph, import_scope: str | None) -> Any:
    """Return the operation or tensor that a TensorInfo names. Raises KeyError if it does not
    exist.
    """
    return graph.as_graph_element(prepend_name_scope(tensor_info.name, import_scope))

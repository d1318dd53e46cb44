"""How items of collections become messages."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.building.graph_files.meta_graph_import import import_scoped_meta_graph
from gpugraph.formats import messages_pb2
from gpugraph.graph.client import collection_protos
from gpugraph.graph.client.collection_protos import register_proto_function


def test_a_program_registers_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_protos, "_REGISTERED", {})

    def to_proto(item: Any, export_scope: str | None = None) -> Any:
        return messages_pb2.SaverDef(max_to_keep=item) if item else None

    register_proto_function(
        "mine", messages_pb2.SaverDef, to_proto, lambda message, import_scope: message.max_to_keep
    )
    with pytest.raises(KeyError, match="mine"):
        register_proto_function("mine")
    for name in ("to_proto", "from_proto"):
        with pytest.raises(TypeError, match=f"{name} must be callable"):
            register_proto_function("other", **{name: 1})
    with tf.Graph().as_default() as graph:
        for item in (3, 0, 5):
            graph.add_to_collection("mine", item)
    meta_graph, _ = export_scoped_meta_graph(graph=graph)
    with tf.Graph().as_default():
        import_scoped_meta_graph(meta_graph)
        assert tf.get_collection("mine") == [3, 5]

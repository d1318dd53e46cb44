"""The messages that are public names: `tf.GraphDef`, `tf.train.Example`.

Their public modules look up missing names here (`tensorflow_import`), so that protobuf is imported
with the first message that a program uses, not with the package.
"""

from __future__ import annotations

from typing import Any

from gpugraph.formats import messages_pb2

_NAMES = {
    "": """AttrValue Event GraphDef HistogramProto LogMessage MetaGraphDef NameAttrList NodeDef
        SessionLog Summary SummaryMetadata TensorInfo""",
    "contrib.tensorboard.plugins.projector": "EmbeddingInfo ProjectorConfig SpriteMetadata",
    "summary": "Event SessionLog Summary SummaryDescription TaggedRunMetadata",
    "train": """BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList
        Int64List JobDef SaverDef SequenceExample ServerDef""",
}
PUBLIC_MESSAGES = {path: frozenset(names.split()) for path, names in _NAMES.items()}
"""The names of messages by the path of the public module; the root is the empty string."""


def public_message(path: str, name: str) -> Any:
    """Return the class of a message that is public in a module, or None."""
    return getattr(messages_pb2, name) if name in PUBLIC_MESSAGES.get(path, ()) else None

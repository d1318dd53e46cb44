"""The messages that are public names, such as `tf.GraphDef` and `tf.train.Example`.

If a public module does not define a name, `tensorflow_import` looks the name up in this
module. So a program imports protobuf when it first uses a message, not when it imports the package.
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
"""The names of messages by the path of their public module; the root's path is the empty string."""


def public_message(path: str, name: str) -> Any:
    """Return the message class `name` of the public module `path`.

    Return None if the module has no such message.
    """
    return getattr(messages_pb2, name) if name in PUBLIC_MESSAGES.get(path, ()) else None

"""The settings of TensorBoard's embedding projector; `ProjectorConfig` is a protobuf message."""

from gpugraph.library.summary.embedding_projector import (
    visualize_embeddings as visualize_embeddings,
)

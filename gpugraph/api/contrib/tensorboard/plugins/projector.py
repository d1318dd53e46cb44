"""What TensorBoard's projector of embeddings is configured by; `ProjectorConfig` is a message."""

from gpugraph.library.summary.embedding_projector import (
    visualize_embeddings as visualize_embeddings,
)

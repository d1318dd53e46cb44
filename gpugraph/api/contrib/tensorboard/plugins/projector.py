"""The configuration of TensorBoard's embedding projector; `ProjectorConfig` is a message."""

from gpugraph.summary.embedding_projector import visualize_embeddings as visualize_embeddings

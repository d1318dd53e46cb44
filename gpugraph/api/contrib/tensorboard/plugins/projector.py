"""What TensorBoard's projector of embeddings is configured by; `ProjectorConfig` is a message."""

from gpugraph.summary.embedding_projector import visualize_embeddings as visualize_embeddings

"""Embeddings of sequences of ids. Each embedding is a row of a variable."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.model_variables import model_variable
from gpugraph.library.contrib.layers.slim_transformations import dense_to_sparse
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing import one_hot_where_unique as different_values
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.reductions.reduction_functions import reduce_mean
from gpugraph.ops.sparse import embedding_lookup_sparse as sparse_lookups
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Return the embeddings [n, steps, embed_dim] of ids [n, steps].

    The embeddings are rows of a variable `embeddings` [vocab_size, embed_dim].

    Raises ValueError if `vocab_size` or `embed_dim` is missing, unless `reuse` is true.

    Args:
      unique: whether each distinct id is looked up only once.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings", shape=[vocab_size, embed_dim] if vocab_size else None,
            initializer=initializer, regularizer=regularizer, trainable=trainable,
        )  # fmt: skip
        lookup = embedding_lookup_unique if unique else embedding_lookup
        return lookup(embeddings, ids)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Return the mean [n, embed_dim] of the embeddings of each sequence of ids [n, steps].

    The embeddings are rows of a variable `embeddings` [vocab_size, embed_dim].

    Raises TypeError for a SparseTensor unless `sparse_lookup` is true.

    Args:
      ids: a tensor. If `sparse_lookup` is true, zeros in `ids` are ignored, and `ids` may be a
        SparseTensor.
    """
    with variable_scope(scope, "BowEncoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings", shape=[vocab_size, embed_dim], initializer=initializer,
            regularizer=regularizer, trainable=trainable,
        )  # fmt: skip
        if sparse_lookup:
            sparse_ids = ids if isinstance(ids, SparseTensor) else dense_to_sparse(ids)
            return sparse_lookups.embedding_lookup_sparse(
                embeddings, sparse_ids, None, combiner="mean"
            )
        if isinstance(ids, SparseTensor):
            raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
        return reduce_mean(embedding_lookup(embeddings, ids), axis=1)


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """Look up embeddings as `tf.nn.embedding_lookup` does, but look up each distinct id only
    once.
    """
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        places = convert_to_tensor(ids)
        different, positions = different_values.unique(reshape(places, [-1]))
        rows = embedding_lookup(params, different, partition_strategy)
        flat = gather(rows, positions)
        outputs = reshape(flat, concat([shape(places), shape(flat)[1:]], 0))
        outputs.set_shape(places.shape.concatenate(flat.shape[1:]))
        return outputs


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """Call `tf.nn.safe_embedding_lookup_sparse`, with the combiner "mean" by default."""
    return sparse_lookups.safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner or "mean", default_id, name,
        partition_strategy, max_norm,
    )  # fmt: skip

"""`tensorflow.python.ops.nn_impl._compute_sampled_logits`, for losses of programs."""

from __future__ import annotations

from typing import Any

from gpugraph.ops.nn.losses.nce_and_sampled_softmax import sampled_logits


def compute_sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    subtract_log_q: bool = True,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Return (logits, labels) of the true and the sampled classes, [batch, true + sampled].

    See `tf.nn.nce_loss` for the arguments.

    Args:
      subtract_log_q: whether to subtract the logarithms of the expected counts of the classes.
    """
    return sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name or "compute_sampled_logits", seed,
        subtract_log_q,
    )  # fmt: skip

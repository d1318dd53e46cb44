"""Cross entropies, CTC, sampled losses and their candidates."""

from gpugraph.ops.nn.losses import (
    candidate_distributions,
    candidate_samplers,
    cross_entropy_ops,
    ctc_beam_search,
    ctc_decoders,
    ctc_loss,
    dense_label_ctc_loss,
    loss_weights,
    nce_and_sampled_softmax,
    poisson_loss,
)

"""`tf.contrib.training`: hyperparameters, train ops, and placement of variables on devices."""

from gpugraph.library.contrib.layers import (
    add_gradients_summaries as add_gradients_summaries, clip_gradient_norms as clip_gradient_norms,
    clip_gradient_norms_fn as clip_gradient_norms_fn, create_train_op as create_train_op,
    multiply_gradients as multiply_gradients,
)
from gpugraph.platform.hparams import HParams as HParams
from gpugraph.library.train.inputs.bucket_batches import (
    bucket as bucket, bucket_by_sequence_length as bucket_by_sequence_length,
)
from gpugraph.library.train.replica_devices import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
    byte_size_load_fn as byte_size_load_fn,
)
from gpugraph.library.train.savers.checkpoints_iterator import (
    checkpoints_iterator as checkpoints_iterator,
    wait_for_new_checkpoint as wait_for_new_checkpoint,
)

"""What programs take from `tf.contrib.training`: hyperparameters, and devices of variables."""

from gpugraph.platform.hparams import HParams as HParams
from gpugraph.train.replica_devices import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
    byte_size_load_fn as byte_size_load_fn,
)

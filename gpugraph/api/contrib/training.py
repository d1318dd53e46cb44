"""What programs take from `tf.contrib.training`: hyperparameters."""

from gpugraph.platform.hparams import HParams as HParams

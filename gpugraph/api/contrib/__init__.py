"""The modules of `tf.contrib` that gpugraph has, such as `framework`, `layers` and `slim`."""

from typing import TYPE_CHECKING

from gpugraph.base.deferred_names import deferred_names

if TYPE_CHECKING:
    from gpugraph.api.contrib import (
        autograph_names as autograph_names,
        checkpoint as checkpoint,
        crf as crf,
        data as data,
        distributions as distributions,
        eager_names as eager_names,
        feature_column as feature_column,
        framework as framework,
        layers as layers,
        legacy_seq2seq as legacy_seq2seq,
        lookup as lookup,
        rnn as rnn,
        seq2seq as seq2seq,
        slim as slim,
        staging as staging,
        tensorboard as tensorboard,
        training as training,
        util as util,
    )

    autograph = autograph_names
    eager = eager_names
else:
    __getattr__, __dir__, __all__ = deferred_names(__name__)

"""The modules of `tf.contrib` that gpugraph provides, such as `framework`, `layers` and `slim`."""

from typing import TYPE_CHECKING

from gpugraph.base.deferred_names import deferred_names

if TYPE_CHECKING:
    from gpugraph.api.contrib import (
        autograph_names as autograph_names,
        checkpoint as checkpoint,
        crf as crf,
        data as data,
        distribute as distribute,
        distributions as distributions,
        eager_names as eager_names,
        feature_column as feature_column,
        framework as framework,
        image_names as image_names,
        layers as layers,
        legacy_seq2seq as legacy_seq2seq,
        lookup as lookup,
        nn_names as nn_names,
        opt as opt,
        resampler_names as resampler_names,
        rnn as rnn,
        seq2seq as seq2seq,
        slim as slim,
        sparsemax_names as sparsemax_names,
        staging as staging,
        tensorboard as tensorboard,
        training as training,
        util as util,
    )

    autograph = autograph_names
    eager = eager_names
    image = image_names
    nn = nn_names
    resampler = resampler_names
    sparsemax = sparsemax_names
else:
    __getattr__, __dir__, __all__ = deferred_names(__name__)

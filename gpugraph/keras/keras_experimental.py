"""`tf.keras.experimental`: what Keras tries out."""

from gpugraph.keras.layers.recurrent.recurrent_cells import PeepholeLSTMCell as PeepholeLSTMCell
from gpugraph.keras.optimizers.learning_rate_schedules import (
    CosineDecay as CosineDecay,
    CosineDecayRestarts as CosineDecayRestarts,
    LinearCosineDecay as LinearCosineDecay,
    NoisyLinearCosineDecay as NoisyLinearCosineDecay,
)
from gpugraph.keras.training.wide_deep_models import (
    LinearModel as LinearModel,
    WideDeepModel as WideDeepModel,
)

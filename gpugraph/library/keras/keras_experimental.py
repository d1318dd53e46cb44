"""`tf.keras.experimental`: Keras's experimental features."""

from gpugraph.library.keras.exported_models import (
    export_saved_model as export_saved_model,
    load_from_saved_model as load_from_saved_model,
)
from gpugraph.library.keras.layers.feature_layers import SequenceFeatures as SequenceFeatures
from gpugraph.library.keras.layers.recurrent.recurrent_cells import (
    PeepholeLSTMCell as PeepholeLSTMCell,
)
from gpugraph.library.keras.optimizers.learning_rate_schedules import (
    CosineDecay as CosineDecay,
    CosineDecayRestarts as CosineDecayRestarts,
    LinearCosineDecay as LinearCosineDecay,
    NoisyLinearCosineDecay as NoisyLinearCosineDecay,
)
from gpugraph.library.keras.training.wide_deep_models import (
    LinearModel as LinearModel,
    WideDeepModel as WideDeepModel,
)

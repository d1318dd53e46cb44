"""`tf.keras.optimizers`: objects that update variables with gradients, and schedules of learning
rates.
"""

from gpugraph.library.keras.optimizers import schedules as schedules
from gpugraph.library.keras.optimizers.moment_optimizers import (
    Adam as Adam,
    Adamax as Adamax,
    Nadam as Nadam,
)
from gpugraph.library.keras.optimizers.optimizer_v2 import OptimizerV2
from gpugraph.library.keras.optimizers.optimizers_by_name import (
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
from gpugraph.library.keras.optimizers.rate_optimizers import (
    SGD as SGD,
    Adadelta as Adadelta,
    Adagrad as Adagrad,
    Ftrl as Ftrl,
    RMSprop as RMSprop,
)

Optimizer = OptimizerV2

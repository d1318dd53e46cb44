"""`tf.keras.optimizers.schedules`: learning rates that depend on the number of the step."""

from gpugraph.library.keras.optimizers.learning_rate_schedules import (
    ExponentialDecay as ExponentialDecay,
    InverseTimeDecay as InverseTimeDecay,
    LearningRateSchedule as LearningRateSchedule,
    PiecewiseConstantDecay as PiecewiseConstantDecay,
    PolynomialDecay as PolynomialDecay,
    deserialize as deserialize,
    serialize as serialize,
)

"""`tf.keras.callbacks`: objects with methods that are called before and after epochs and batches of
a training.
"""

from gpugraph.library.keras.callbacks.callback import (
    BaseLogger as BaseLogger,
    Callback as Callback,
    CallbackList as CallbackList,
    History as History,
    LambdaCallback as LambdaCallback,
)
from gpugraph.library.keras.callbacks.progress_bar import ProgbarLogger as ProgbarLogger
from gpugraph.library.keras.callbacks.tensorboard_callback import TensorBoard as TensorBoard
from gpugraph.library.keras.callbacks.watching_callbacks import (
    EarlyStopping as EarlyStopping,
    LearningRateScheduler as LearningRateScheduler,
    ReduceLROnPlateau as ReduceLROnPlateau,
    TerminateOnNaN as TerminateOnNaN,
)
from gpugraph.library.keras.callbacks.writing_callbacks import (
    CSVLogger as CSVLogger,
    ModelCheckpoint as ModelCheckpoint,
    RemoteMonitor as RemoteMonitor,
)

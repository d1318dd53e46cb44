"""`tf.distribute.experimental`: strategies with one copy of each variable, and strategies for
several processes.
"""

from gpugraph.library.distribute.multi_worker_strategy import (
    CollectiveCommunication as CollectiveCommunication,
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from gpugraph.library.distribute.parameter_strategies import (
    CentralStorageStrategy as CentralStorageStrategy,
    ParameterServerStrategy as ParameterServerStrategy,
)

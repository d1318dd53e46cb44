"""`tf.contrib.staging`: buffers through which the inputs of the next step are loaded while a step
runs.
"""

from gpugraph.ops.queues.staging_classes import (
    MapStagingArea as MapStagingArea, StagingArea as StagingArea,
)

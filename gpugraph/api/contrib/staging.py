"""`tf.contrib.staging`: buffers that load the next step's inputs while a step runs."""

from gpugraph.ops.queues.staging_classes import (
    MapStagingArea as MapStagingArea, StagingArea as StagingArea,
)

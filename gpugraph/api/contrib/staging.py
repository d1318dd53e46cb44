"""Areas in which a step's inputs lie ready while another step runs."""

from gpugraph.ops.queues.staging_classes import (
    MapStagingArea as MapStagingArea, StagingArea as StagingArea,
)

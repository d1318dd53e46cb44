"""Staging areas, which hold the next step's inputs ready while a step runs."""

from gpugraph.ops.queues.staging_classes import (
    MapStagingArea as MapStagingArea, StagingArea as StagingArea,
)

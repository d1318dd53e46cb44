"""Queues: elements that runs of a session hand to each other, and that runs may wait for."""

from gpugraph.ops.queues import queue_classes as queue_classes, queue_ops as queue_ops

"""Windows that slide: geometry, launches and C functions that convolution and pooling share."""

from gpugraph.ops.nn.windows import native_window_sources, window_geometry, window_launches

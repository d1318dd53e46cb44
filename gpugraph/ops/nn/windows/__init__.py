"""Windows that slide: geometry, launches and C functions that convolution and pooling share."""

"""Image ops: file formats, colours, resizing, bounding boxes, and quality measures."""

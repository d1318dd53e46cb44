"""Images: file formats, colours, sizes, boxes, quality measures."""

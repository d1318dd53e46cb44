"""Images: file formats, colours, resizing, boxes, quality measures."""

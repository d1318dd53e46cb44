"""Images: files, colours, sizes, boxes, measures."""

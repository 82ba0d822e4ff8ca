"""Is the record of boundaries right: offsets, positions and ids against one another."""

"""Is the room of the packs used."""

"""Can the shard be read at all."""

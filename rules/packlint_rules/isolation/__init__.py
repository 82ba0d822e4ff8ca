"""Who can see whom: the trainer's mask against the true samples."""

"""What maps the engine over shards; results merge in any order.

local.py     threads on this machine: pyarrow and numpy release the GIL
"""

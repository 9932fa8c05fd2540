"""A cache of the truth, in Redis: it may vanish at any instant and is filled again from MongoDB."""

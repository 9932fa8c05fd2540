"""The truth, in MongoDB."""

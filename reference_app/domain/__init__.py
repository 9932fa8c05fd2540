"""Rules without I/O: every function here is a function of its arguments."""

"""The docker side of the stack: what its images run, and how a compose project is found and acted on."""

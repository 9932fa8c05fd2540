"""The claims of the reference model, each as a small experiment on the running stack.

One claim is one file: what it says, and an experiment that measures it on the stack's own Mongo, Redis
and Kafka, under names of its own that are removed afterwards. The verdict comes from the samples alone
(`judging.py`): *holds*, *does not hold here*, or *cannot be shown here*.
"""

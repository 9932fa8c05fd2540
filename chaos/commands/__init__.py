"""The verbs of the command line, one file for each noun. They parse, call, and print; nothing else."""

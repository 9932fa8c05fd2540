"""The stack as local processes: no Docker, no root, only what pip installs.

stack = EmbeddedStack.create(home, options)     # nothing runs yet
await stack.up()                                # members outlive this process
EmbeddedStack.attach(home)                      # any later process finds them again
"""

from compose.embedded.stack import EmbeddedStack, default_home

__all__ = ["EmbeddedStack", "default_home"]

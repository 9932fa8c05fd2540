"""The stack as local processes: no Docker, no root, only what pip installs.

    stack = EmbeddedStack.create(home, options)     # from compose.embedded.stack; nothing runs yet
    await stack.up()                                # members outlive this process
    EmbeddedStack.attach(home)                      # any later process finds them again

Nothing is imported here: every member is a process of its own that starts with importing this package.
"""

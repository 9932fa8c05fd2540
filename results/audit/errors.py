"""What can go wrong with an audit itself."""


class ReadError(Exception):
    """A store or the API could not be read. The message is one plain sentence for a user."""

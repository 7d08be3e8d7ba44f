"""The connections of a script."""


class Link:
    """The two connections that a script knows by one name."""

    def __init__(self):
        self.ends = [None, None]
        self.sent = None
        # The parts of the state that differ between the two, each with the rule that counts it apart, or None.
        self.diverged = {}
        self.login = None
        # One of the servers rejected the account.
        self.refused = False

    def mark(self, what, differs, why=None):
        if differs:
            self.diverged[what] = why
        else:
            self.diverged.pop(what, None)

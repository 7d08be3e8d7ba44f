"""The connections of a script."""


class Link:
    """The two connections that a script knows by one name."""

    def __init__(self):
        self.ends = [None, None]
        self.sent = None
        # What differs between the two, with the rule by which that is counted apart, or None.
        self.diverged = {}
        self.login = None
        # One of the servers does not let the account in.
        self.refused = False

    def mark(self, what, differs, why=None):
        if differs:
            self.diverged[what] = why
        else:
            self.diverged.pop(what, None)

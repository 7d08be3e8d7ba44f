"""Reads `rules.toml`: the statements that are not compared or are rewritten for one of the servers, and the answers of MariaDB that are not MySQL's."""

import os
import re
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))


class Rules:
    def __init__(self):
        with open(os.path.join(HERE, "rules.toml"), "rb") as file:
            data = tomllib.load(file)
        flags = re.IGNORECASE | re.DOTALL
        self.rules = [(rule["name"], rule["when"], re.compile(rule["pattern"], flags)) for rule in data["rule"]]
        self.rewrites = [(rewrite["of"], re.compile(rewrite["pattern"], flags), rewrite["with"]) for rewrite in data["rewrite"]]
        self.same = {tuple(same["numbers"]) for same in data["same_error"]}
        self.known_differences = [(re.compile(entry.get("file", ".*")), re.compile(entry["pattern"], flags), entry.get("verdict", ""), entry["reason"])
                                  for entry in data["known"]]
        self.skip_text = [(re.compile(skip["pattern"], re.IGNORECASE | re.MULTILINE), skip["reason"]) for skip in data["skip_file"]]
        self.skip_names = [(re.compile(skip["pattern"], re.IGNORECASE), skip["reason"]) for skip in data["skip_name"]]

    def skipped(self, path, text):
        for pattern, reason in self.skip_names:
            if pattern.search(os.path.basename(path)):
                return reason
        for pattern, reason in self.skip_text:
            if pattern.search(text):
                return reason
        base = os.path.splitext(path)[0]
        for end in ("-master.opt", ".opt", ".cnf", ".combinations"):
            if os.path.exists(base + end):
                return "needs options of the server"
        return None

    def rule(self, text, always):
        for name, when, pattern in self.rules:
            if (when == "always") == always and pattern.search(text):
                yield name, when

    def known(self, file, text, verdict):
        """Returns the reason why MariaDB's answer to the statement is not MySQL 8's, if one is known."""
        return next((f"known: {reason}" for of, pattern, how, reason in self.known_differences
                     if of.fullmatch(file) and pattern.search(text) and (re.match(how, verdict) if how.startswith("^") else how in verdict)), None)

    def rewritten(self, text, side):
        for of, pattern, replacement in self.rewrites:
            if of == side:
                text = pattern.sub(replacement, text)
        return text

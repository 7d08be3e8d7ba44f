"""Makes a table of the results of `driver.py`: by class, by cause, by file, and each statement whose rows differ.

usage: report.py [--examples N] [--rows] [--files] RESULTS.jsonl...
"""

import argparse
import json
from collections import Counter, defaultdict

# A statement is a cause if the state was the same before it; its consequences are not counted again.
CAUSES = ("server died", "rows differ", "affected rows differ", "error here", "no error here", "other error")


def read(paths):
    for path in paths:
        with open(path) as file:
            for line in file:
                yield json.loads(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1)
    parser.add_argument("--causes", type=int, default=60)
    parser.add_argument("--rows", action="store_true", help="list each statement whose rows differ")
    parser.add_argument("--files", action="store_true", help="a line for each file")
    parser.add_argument("results", nargs="+")
    options = parser.parse_args()
    verdicts, apart, follows, causes, examples, files, skipped = Counter(), Counter(), Counter(), Counter(), defaultdict(list), defaultdict(Counter), Counter()
    wrong = []
    for entry in read(options.results):
        verdict = entry["verdict"]
        if verdict == "file skipped":
            skipped[entry["rule"]] += 1
            continue
        verdicts[verdict] += 1
        files[entry["file"]][verdict] += 1
        if verdict == "apart":
            apart[entry["rule"]] += 1
        elif verdict == "follows":
            follows[entry["rule"]] += 1
        elif verdict in CAUSES:
            cause = (verdict, entry.get("detail", ""), entry["kind"])
            causes[cause] += 1
            if len(examples[cause]) < options.examples:
                examples[cause].append(entry)
            if verdict in ("rows differ", "server died"):
                wrong.append(entry)
    compared = sum(count for verdict, count in verdicts.items() if verdict in CAUSES or verdict == "equal")
    every = compared + verdicts["apart"] + verdicts["follows"] + verdicts["consequence"]
    print(f"| files | {len(files)} |\n|---|---|\n| statements | {every} |\n| counted apart | {verdicts['apart']} |\n| consequences of these | {verdicts['follows']} |\n| consequences | {verdicts['consequence']} |")
    print(f"| compared | {compared} |\n| equal | {verdicts['equal']} ({100 * verdicts['equal'] / max(compared, 1):.2f} %) |")
    print(f"| equal of compared and consequences | {100 * verdicts['equal'] / max(compared + verdicts['consequence'], 1):.2f} % |")
    for verdict in CAUSES + ("file cut",):
        print(f"| {verdict} | {verdicts[verdict]} |")
    print("\nApart:", "; ".join(f"{name} {count}" for name, count in apart.most_common()))
    print("\nConsequences of these:", "; ".join(f"{name} {count}" for name, count in follows.most_common()))
    print("\nFiles skipped:", "; ".join(f"{name} {count}" for name, count in skipped.most_common()))
    print("\n| n | verdict | cause | kind | example |\n|---|---|---|---|---|")
    for cause, count in causes.most_common(options.causes):
        for entry in examples[cause]:
            text = " ".join(entry["text"].split())[:160].replace("|", "\\|")
            print(f"| {count} | {cause[0]} | {cause[1]} | {cause[2]} | {entry['file']}:{entry['line']} `{text}` |")
    if options.rows:
        print()
        for entry in wrong:
            print(f"--- {entry['file']}:{entry['line']} {entry['verdict']} {entry.get('detail')}\n{entry['text'][:600]}\n  reference: {str(entry.get('reference'))[:500]}\n  subject:   {str(entry.get('subject'))[:500]}")
    if options.files:
        print("\n| file | equal | differ | consequences | apart |\n|---|---|---|---|---|")
        for name, counts in sorted(files.items(), key=lambda item: -sum(item[1][verdict] for verdict in CAUSES)):
            print(f"| {name} | {counts['equal']} | {sum(counts[verdict] for verdict in CAUSES)} | {counts['consequence']} | {counts['apart']} |")


if __name__ == "__main__":
    main()

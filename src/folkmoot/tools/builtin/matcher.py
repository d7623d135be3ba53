"""Run as a script: find the lines that match, in files given as JSON on stdin. See `process`."""

import json
import re
import resource
import sys


def main() -> None:
    seconds = int(sys.argv[1])
    if seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    asked = json.load(sys.stdin)
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        json.dump({"wrong": str(error)}, sys.stdout)
        return
    found: list[tuple[str, int, str]] = []
    count = 0
    for path, text in asked["files"]:
        for number, line in enumerate(text.split("\n"), 1):
            if hit := pattern.search(line):
                count += 1
                if len(found) < asked["most"]:
                    start = max(0, hit.start() - asked["width"] // 2)
                    found.append((path, number, line[start : start + asked["width"]]))
    json.dump({"found": found, "count": count}, sys.stdout)


if __name__ == "__main__":
    main()

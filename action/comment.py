"""Writes the comparison as a comment on the pull request, once: a later run replaces the text.

GH_TOKEN=... GITHUB_REPOSITORY=me/server NUMBER=7 python action/comment.py gate/comment.md
"""

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

MARK = "<!-- dragstrip -->"
"""The first line of `action/race.py`'s text, by which the comment is found again."""


def main() -> None:
    body = Path(sys.argv[1]).read_text()
    comments = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{os.environ['NUMBER']}/comments"
    ours = next((c for c in _every(comments) if c["body"].startswith(MARK)), None)
    if ours:
        path = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/comments/{ours['id']}"
        _call("PATCH", path, {"body": body})
    else:
        _call("POST", comments, {"body": body})


def _every(path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for page in range(1, 100):
        some = _call("GET", f"{path}?per_page=100&page={page}")
        found += some
        if len(some) < 100:
            break
    return found


def _call(method: str, path: str, content: object = None) -> Any:
    request = urllib.request.Request(
        os.environ.get("GITHUB_API_URL", "https://api.github.com") + path,
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GH_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main()

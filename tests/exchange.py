"""Two scenes in the exchange format, of which one is withheld, and how lines become a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]

ZOO: Line = {
    "sceneId": "zoo",
    "title": "zoo",
    "lang": "en",
    "groups": ["animals", "keepers"],
    "fields": [
        {"name": "animals.species", "title": "species", "group": "animals", "type": "text"},
        {"name": "animals.weight", "title": "weight", "group": "animals", "type": "number"},
        {"name": "keepers.name", "title": "keeper name", "group": "keepers", "type": "text"},
    ],
    "withhold": False,
}
LIBRARY: Line = {
    "sceneId": "library",
    "title": "图书馆",
    "lang": "zh",
    "groups": ["图书", "读者"],
    "fields": [
        {"name": "book.title", "title": "书名", "group": "图书", "type": "text"},
        {"name": "reader.card", "title": "借书证号", "group": "读者", "type": "text"},
    ],
    "withhold": True,
}


def written(path: Path, *lines: Line) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path

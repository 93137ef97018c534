"""The README as a package index shows it: without links to other files of the repository."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# An image or a link whose target is no address of its own.
RELATIVE = re.compile(r"(?P<image>!?)\[(?P<words>[^]]*)\]\((?!https?://)[^)]*\)")


class Readme(MetadataHookInterface):
    """Of relative links the words stay; nothing stays of relative images."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        shown = RELATIVE.sub(lambda found: "" if found["image"] else found["words"], text)
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}

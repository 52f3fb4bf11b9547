"""Rich texts for a terminal that has only ASCII."""

from rich.text import Text

from hopgraph.tools.text.sanitize import to_ascii


def ascii_signs(text: Text) -> Text:
    """Return a text with our own signs in ASCII."""
    return Text("\n").join(Text(to_ascii(str(part)), part.style) for part in text.split("\n"))

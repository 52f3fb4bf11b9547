"""Messages as elements: EML, and Outlook's MSG."""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, BinaryIO

from hopgraph.tools.documents.elements import Document, Element, UnreadableFileError, join_text, tidy
from hopgraph.tools.documents.encodings import decode
from hopgraph.tools.documents.html import read_html, read_page

_HEADERS = ("From", "To", "Cc", "Date")


def read_eml(file: BinaryIO) -> Document:
    """Read a message: who wrote it to whom and when, its plain texts, else its HTML; so do messages within it.

    Attachments are named, not read.
    """
    content = file.read()
    head, end, body = content.partition(b"\r\n\r\n" if b"\r\n\r\n" in content else b"\n\n")
    message = message_from_bytes(decode(head).encode() + end + body, policy=default)
    if not message.keys():
        raise UnreadableFileError("it is not a message")
    return _read_message(message)


def _read_message(message: EmailMessage) -> Document:
    attached = list[str]()
    headers = [(name, str(message[name])) for name in _HEADERS if message[name]]
    content = list(_read_part(message, attached))
    return _message(tidy(str(message["Subject"] or "")), headers, content, attached)


def _read_part(part: EmailMessage, attached: list[str]) -> Iterator[Element]:
    kind, name = part.get_content_type(), part.get_filename()
    inner = [each for each in part.iter_parts() if isinstance(each, EmailMessage)]
    if kind == "multipart/alternative":
        inner.sort(key=lambda each: each.get_content_type() != "text/plain")
        found = [list(_read_part(each, attached)) for each in inner if each.get_content_type() != "text/calendar"]
        most = max((len(join_text(each)) for each in found), default=0)
        # A plain text may only say that there is a page.
        yield from next((each for each in found if 2 * len(join_text(each)) > most), ())
    elif kind == "multipart/related":  # a page, and its pictures
        for each in inner[:1]:
            yield from _read_part(each, attached)
    elif kind == "message/rfc822" or kind.startswith("multipart/"):
        for each in inner:
            yield from _read_message(each).elements if kind == "message/rfc822" else _read_part(each, attached)
    elif kind in ("text/plain", "text/html") and not name and not part.is_attachment():
        content = part.get_payload(decode=True)
        text = decode(content if isinstance(content, bytes) else b"", part.get_content_charset())
        yield from _texts(text) if kind == "text/plain" else read_html(text).elements
    else:
        attached.append(name or kind)


def _texts(content: str) -> Iterator[Element]:
    for each in content.replace("\r\n", "\n").split("\n\n"):
        if each.strip():
            yield Element("code" if "\n" in each.strip() else "text", each.strip("\n"))


def read_msg(file: BinaryIO) -> Document:
    """Read a message of Outlook, as `read_eml` does."""
    import olefile

    library: Any = olefile
    try:
        with library.OleFileIO(file) as message:

            def read(code: str, place: str = "") -> str:
                for kind, encoding in (("001F", "utf-16-le"), ("001E", "cp1252"), ("0102", "utf-8")):
                    name = f"{place}__substg1.0_{code}{kind}"
                    if message.exists(name):
                        return str(message.openstream(name).read().decode(encoding, "replace")).rstrip("\0")
                return ""

            headers = [(name, read(code)) for name, code in (("From", "0C1A"), ("To", "0E04"), ("Cc", "0E03"))]
            folders = dict.fromkeys(each[0] for each in message.listdir() if each[0].startswith("__attach"))
            named = [read("3707", f"{each}/") or read("3704", f"{each}/") for each in folders]
            page = "__substg1.0_10130102"
            if not (content := list(_texts(read("1000")))):
                is_bytes = message.exists(page)
                content = (read_page(message.openstream(page).read()) if is_bytes else read_html(read("1013"))).elements
            return _message(tidy(read("0037")), headers, content, named)
    except OSError:
        raise UnreadableFileError("it is damaged, or no message of Outlook") from None


def _message(subject: str, headers: list[tuple[str, str]], content: list[Element], attached: list[str]) -> Document:
    elements = [Element("heading", subject, 1)] if subject else []
    elements += [Element("item", f"{name}: {tidy(value)}") for name, value in headers if value.strip()]
    elements += content
    if names := ", ".join(tidy(each) for each in attached if each):
        elements.append(Element("text", f"Attachments: {names}"))
    return Document(elements, subject)

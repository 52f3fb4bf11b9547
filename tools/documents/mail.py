"""Read e-mail: EML, mailboxes (mbox), MHTML and Outlook's MSG."""

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import format_datetime
from typing import Any, BinaryIO

from hopgraph.tools.documents.elements import Document, Element, UnreadableFileError, join_text, tidy
from hopgraph.tools.documents.encodings import decode
from hopgraph.tools.documents.html import read_html, read_page

_HEADERS = ("From", "To", "Cc", "Date")
_MBOX = re.compile(rb"(?:\A|\n\r?\n)From [^\n]*\n(?=[!-9;-~]+:)")
"""The separator line before each message of a mailbox."""
_LIST_ITEM = re.compile(r" {0,9}(?:[>*+\u2022-]|\d{1,3}[.)] )")
_MIN_PROSE_WORDS = 7
"""Minimum average number of words per line of prose."""
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
"""Start of Windows file times, which count units of 100 ns."""
_SENT, _RECEIVED, _CODE_PAGE, _HTML_CODE_PAGE = 0x39, 0xE06, 0x3FFD, 0x3FDE


def read_eml(file: BinaryIO) -> Document:
    """Read a message: its main headers, then its plain text, else its HTML, and any forwarded messages.

    Attachments are only named.
    """
    return _read_message(_parse(file.read()))


def read_mbox(file: BinaryIO) -> Document:
    """Read the messages of a mailbox like `read_eml`, each under its subject as a heading."""
    found = Document()
    for each in filter(None, map(bytes.strip, _MBOX.split(file.read()))):
        found.elements += [
            Element("heading", number=1),
            *_read_message(_parse(each.replace(b"\n>From ", b"\nFrom "))).elements,
        ]
    return found


def read_mhtml(file: BinaryIO) -> Document:
    """Read a web page saved as MHTML."""
    message = _parse(file.read())
    return Document(list(_read_part(message, [])), tidy(str(message["Subject"] or "")))


def _parse(content: bytes) -> EmailMessage:
    head, end, body = content.partition(b"\r\n\r\n" if b"\r\n\r\n" in content else b"\n\n")
    message = message_from_bytes(decode(head).encode() + end + body, policy=default)
    if not message.keys():
        raise UnreadableFileError("it is not a message")
    return message


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
        # The plain text may only say that the message is in HTML.
        yield from next((each for each in found if 2 * len(join_text(each)) > most), ())
    elif kind == "multipart/related":  # a page, then its images
        for each in inner[:1]:
            yield from _read_part(each, attached)
    elif kind == "message/rfc822" or inner:
        for each in inner:
            yield from _read_message(each).elements if kind == "message/rfc822" else _read_part(each, attached)
    elif kind.startswith(("text/plain", "text/html", "multipart/")) and not name and not part.is_attachment():
        content = part.get_payload(decode=True)
        content, charset = content if isinstance(content, bytes) else b"", part.get_content_charset()
        if kind != "text/html":
            yield from _texts(decode(content, charset))
        else:
            yield from (read_html(decode(content, charset)) if charset else read_page(content)).elements
    else:
        attached.append(name or kind)


def _texts(content: str) -> Iterator[Element]:
    for each in content.replace("\r\n", "\n").split("\n\n"):
        if lines := each.strip().splitlines():
            is_prose = len(each.split()) >= _MIN_PROSE_WORDS * len(lines) and not any(map(_LIST_ITEM.match, lines))
            yield Element("text" if is_prose or len(lines) == 1 else "code", each.strip("\n"))


def read_msg(file: BinaryIO) -> Document:
    """Read an Outlook message like `read_eml`."""
    import olefile

    library: Any = olefile
    try:
        with library.OleFileIO(file) as message:
            values = _read_values(message)
            encoding = f"cp{values.get(_CODE_PAGE) or values.get(_HTML_CODE_PAGE) or 1252}"

            def read(code: str, folder: str = "") -> str:
                if message.exists(name := f"{folder}__substg1.0_{code}001F"):
                    return str(message.openstream(name).read().decode("utf-16-le", "replace")).rstrip("\0")
                name = f"{folder}__substg1.0_{code}001E"
                return decode(message.openstream(name).read().rstrip(b"\0"), encoding) if message.exists(name) else ""

            headers = [(name, read(code)) for name, code in (("From", "0C1A"), ("To", "0E04"), ("Cc", "0E03"))]
            if sent := values.get(_SENT) or values.get(_RECEIVED):
                headers.append(("Date", format_datetime(_EPOCH + timedelta(microseconds=sent // 10))))
            folders = dict.fromkeys(each[0] for each in message.listdir() if each[0].startswith("__attach"))
            named = [read("3707", f"{each}/") or read("3704", f"{each}/") for each in folders]
            html = "__substg1.0_10130102"
            if not (content := list(_texts(read("1000")))):
                is_bytes = message.exists(html)
                found = read_page(message.openstream(html).read(), encoding) if is_bytes else read_html(read("1013"))
                content = found.elements
            return _message(tidy(read("0037")), headers, content, named)
    except OSError:
        raise UnreadableFileError("it is damaged, or not an Outlook message") from None


def _read_values(message: Any) -> dict[int, int]:
    """Return id → value of an Outlook message's numeric and time properties."""
    name = "__properties_version1.0"
    content = message.openstream(name).read()[32:] if message.exists(name) else b""
    return {key: value for _, key, _, value in struct.iter_unpack("<HHIQ", content[: len(content) // 16 * 16])}


def _message(subject: str, headers: list[tuple[str, str]], content: list[Element], attached: list[str]) -> Document:
    elements = [Element("heading", subject, 1)] if subject else []
    elements += [Element("item", f"{name}: {tidy(value)}") for name, value in headers if value.strip()]
    elements += content
    if names := ", ".join(tidy(each) for each in attached if each):
        elements.append(Element("text", f"Attachments: {names}"))
    return Document(elements, subject)

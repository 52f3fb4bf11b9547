"""Messages as elements: EML, and Outlook's MSG."""

from email import message_from_binary_file
from email.message import EmailMessage
from email.policy import default
from typing import Any, BinaryIO

from hopgraph.tools.documents.elements import Document, Element, UnreadableFileError, tidy
from hopgraph.tools.documents.html import read_html

_HEADERS = ("From", "To", "Cc", "Date")


def read_eml(file: BinaryIO) -> Document:
    """Read a message: who wrote it to whom and when, its plain text, else its HTML; attachments are named, not read."""
    message: EmailMessage = message_from_binary_file(file, policy=default)
    if not message.keys():
        raise UnreadableFileError("it is not a message")
    try:
        headers = [(name, str(message[name])) for name in _HEADERS if message[name]]
        body = message.get_body(("plain", "html"))
        content = str(body.get_content()) if body else ""
        named = [str(part.get_filename() or part.get_content_type()) for part in message.iter_attachments()]
        subject = tidy(str(message["Subject"] or ""))
    except (LookupError, ValueError, AttributeError) as error:  # an unknown encoding, a damaged header
        raise UnreadableFileError(f"it is damaged: {error}"[:200]) from None
    is_html = body is not None and body.get_content_type() == "text/html"
    return _message(subject, headers, content, is_html=is_html, attachments=named)


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
            plain = read("1000")
            return _message(tidy(read("0037")), headers, plain or read("1013"), is_html=not plain, attachments=named)
    except OSError:
        raise UnreadableFileError("it is damaged, or no message of Outlook") from None


def _message(
    subject: str, headers: list[tuple[str, str]], content: str, *, is_html: bool, attachments: list[str]
) -> Document:
    elements = [Element("heading", subject, 1)] if subject else []
    elements += [Element("item", f"{name}: {tidy(value)}") for name, value in headers if value.strip()]
    if is_html:
        elements += read_html(content).elements
    else:
        paragraphs = content.replace("\r\n", "\n").split("\n\n")
        elements += [
            Element("code" if "\n" in each.strip() else "text", each.strip("\n")) for each in paragraphs if each.strip()
        ]
    if names := ", ".join(tidy(each) for each in attachments if each):
        elements.append(Element("text", f"Attachments: {names}"))
    return Document(elements, subject)

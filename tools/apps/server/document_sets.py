"""Document sets, and which of them each user may search.

Every question, from any endpoint, passes through `DocumentSets.restrict`, which limits its retriever to the sets that
its user may search.
"""

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import Runnable
from pydantic import JsonValue, TypeAdapter, ValidationError

from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.state.context import DEFAULT_RETRIEVER
from hopgraph.tools.apps.server.identity import load_function, to_user_id
from hopgraph.tools.retrieval.joined_retriever import JoinedRetriever

Retriever = str | Runnable[str, Any]
DocumentsOf = Callable[[str], Collection[str] | Awaitable[Collection[str]]]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
OWN_PREFIX = "own/"
"""Id prefix of a user's own passages when they are searched together with the app's."""
_RETRIEVERS = ("retriever", "second_retriever")
_EVERYBODY = "*"
_TABLE: TypeAdapter[dict[str, list[str]]] = TypeAdapter(dict[str, list[str]])


@dataclass(frozen=True)
class DocumentChoice:
    """The documents that a question searches."""

    name: str = ""  # one of the app's sets; empty for all that the user may search
    own: str = ""  # the retriever of the user's own documents
    alone: bool = False  # whether to search only the user's own


ALL_DOCUMENTS = DocumentChoice()


@dataclass(frozen=True)
class DocumentSets:
    """The app's document sets by name; if empty, everybody searches the chat's `retriever`."""

    sets: Mapping[str, Retriever] = field(default_factory=dict[str, Retriever])
    documents_of: DocumentsOf | None = None
    """The names of the sets that a user may query; names not in `sets` are ignored."""

    def __post_init__(self) -> None:
        """Raise a SettingsError for a malformed name, or sets without a function that says who may query them."""
        for name in self.sets:
            if not _NAME.fullmatch(name) or f"{name}/" == OWN_PREFIX:
                raise SettingsError(f"documents: invalid name {name!r:.80}; use up to 40 letters, digits, - and _")
        if bool(self.sets) != (self.documents_of is not None):
            raise SettingsError("documents and documents_of must be set together: the sets, and who may query which")

    async def names_for(self, user: str) -> list[str]:
        """Return the names of the sets that a user may query, in the order of `sets`."""
        if self.documents_of is None:
            return []
        found = self.documents_of(user)
        allowed = await found if inspect.isawaitable(found) else found
        return [name for name in self.sets if name in allowed]

    async def restrict(
        self, settings: ChatContext, user: str, choice: DocumentChoice
    ) -> tuple[ChatContext, Sequence[str]]:
        """Return a question's settings with the retriever that its user may query, and the names of its sets.

        A SettingsError if the user may not query the set, with the same message as if it did not exist, or may not
        query any.
        """
        names = [] if choice.alone else await self._chosen(user, choice.name)
        apps: Retriever = settings.retriever or DEFAULT_RETRIEVER
        if names:  # even a single one, so that a passage's id always has its set as a prefix
            apps = JoinedRetriever(retrievers={f"{name}/": self.sets[name] for name in names})
        retriever = apps
        if choice.own:
            retriever = choice.own if choice.alone else JoinedRetriever(retrievers={OWN_PREFIX: choice.own, "": apps})
        if not self.sets:
            return (settings.model_copy(update={"retriever": retriever}) if choice.own else settings), names
        methods = {
            method: {name: value for name, value in given.items() if name not in _RETRIEVERS}
            for method, given in settings.methods.items()
        }
        changes = {"retriever": retriever, "second_retriever": None, "methods": methods}
        return settings.model_copy(update=changes), names

    async def _chosen(self, user: str, name: str) -> list[str]:
        if not self.sets:
            if name:
                raise SettingsError("documents: this app has only one document set; leave it out")
            return []
        allowed = await self.names_for(user)
        if not allowed:
            raise SettingsError("you do not have access to any documents; ask the operator of this app")
        if name and name not in allowed:
            raise SettingsError(
                f"documents: {name!r:.80} is not available to you; leave it out, or use {', '.join(allowed)}"
            )
        return [name] if name else allowed


def split_documents(given: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], DocumentChoice]:
    """Return a caller's settings without `documents`, and its choice; a SettingsError unless it is a string."""
    rest, name = {**given}, given.get("documents") or ""
    rest.pop("documents", None)
    if not isinstance(name, str):
        raise SettingsError("documents: use the name of a document set")
    return rest, DocumentChoice(name)


def check_no_other_retriever(settings: Mapping[str, Any]) -> None:
    """Raise a SettingsError if the chat's settings name a retriever in addition to the document sets."""
    methods: Mapping[str, Mapping[str, Any]] = settings.get("methods") or {}
    given = [*settings, *(name for each in methods.values() for name in each)]
    if named := sorted(set(given) & set(_RETRIEVERS)):
        raise SettingsError(f"{named[0]}: the app's documents are set by `documents`; leave it out")


def load_documents_of(place: str) -> DocumentsOf:
    """Return the function at `MODULE:NAME`, or one that reads a JSON file: user, or `*` for all others → set names.

    The file is read for each question; if it cannot be read, the question fails with a SettingsError.
    """
    if not place.endswith(".json"):
        return load_function(place, "documents_of")
    _read_table(Path(place))

    def of_user(user: str) -> list[str]:
        table = _read_table(Path(place))
        return table.get(user, table.get(_EVERYBODY, []))

    return of_user


def _read_table(path: Path) -> dict[str, list[str]]:
    try:
        table = _TABLE.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else 'write {"USER": ["SET", …], "*": […]}'
        raise SettingsError(f"documents_of: {path} cannot be read: {why}") from None
    return {name if name == _EVERYBODY else to_user_id(name): sets for name, sets in table.items()}


def read_sets(text: str, variable: str) -> dict[str, str]:
    """Parse a variable's JSON: set name → retriever; a SettingsError for anything else."""
    try:
        return TypeAdapter(dict[str, str]).validate_json(text)
    except ValidationError:
        raise SettingsError(f"{variable}: write JSON such as {json.dumps({'hr': 'bm25:/srv/hr'})}") from None

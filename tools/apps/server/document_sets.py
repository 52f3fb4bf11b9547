"""Sets of documents, and which of them each user may ask.

Every question passes `DocumentSets.restrict` on its way to a method, at whatever endpoint it was asked: its retriever
is then made of the sets that its user may ask, and of nothing else.
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
"""Prefix of the ids of a user's own passages if they are searched together with the app's."""
_RETRIEVERS = ("retriever", "second_retriever")
_EVERYBODY = "*"
_TABLE: TypeAdapter[dict[str, list[str]]] = TypeAdapter(dict[str, list[str]])


@dataclass(frozen=True)
class DocumentChoice:
    """The documents that a question searches."""

    name: str = ""  # one of the app's sets; empty: all that the user may ask
    own: str = ""  # the retriever of documents of the user's own
    alone: bool = False  # whether these are asked without the app's


ALL_DOCUMENTS = DocumentChoice()


@dataclass(frozen=True)
class DocumentSets:
    """The app's document sets by name; without any there is one, the chat's `retriever`, open to all."""

    sets: Mapping[str, Retriever] = field(default_factory=dict[str, Retriever])
    documents_of: DocumentsOf | None = None
    """The names of the sets that a user may query; names not in `sets` are ignored."""

    def __post_init__(self) -> None:
        """Raise a SettingsError for a malformed name, or sets without a function that says who may query them."""
        for name in self.sets:
            if not _NAME.fullmatch(name) or f"{name}/" == OWN_PREFIX:
                raise SettingsError(f"documents: {name!r:.80} cannot be a name; use up to 40 letters, digits, - and _")
        if bool(self.sets) != (self.documents_of is not None):
            raise SettingsError("documents and documents_of belong together: the sets, and who may query which")

    async def names_for(self, user: str) -> list[str]:
        """Return the names of the sets that a user may query, in the order of the sets; empty without sets."""
        if self.documents_of is None:
            return []
        found = self.documents_of(user)
        allowed = await found if inspect.isawaitable(found) else found
        return [name for name in self.sets if name in allowed]

    async def restrict(
        self, settings: ChatContext, user: str, choice: DocumentChoice
    ) -> tuple[ChatContext, Sequence[str]]:
        """Return a question's settings with the retriever that its user may query, and the names of its sets.

        A SettingsError for a set that the user may not ask, in the words for one that does not exist, or for none.
        """
        names = [] if choice.alone else await self._chosen(user, choice.name)
        apps: Retriever = settings.retriever or DEFAULT_RETRIEVER
        if names:  # even one alone, so that a passage's id always says which set it is of
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
                raise SettingsError("documents: this app has a single set of documents; leave it out")
            return []
        allowed = await self.names_for(user)
        if not allowed:
            raise SettingsError("you have access to no documents; ask the operator of this app")
        if name and name not in allowed:
            raise SettingsError(
                f"documents: {name!r:.80} is not available to you; leave it out, or use {', '.join(allowed)}"
            )
        return [name] if name else allowed


def split_documents(given: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], DocumentChoice]:
    """Return a caller's settings without `documents`, and the set that this names; a SettingsError for no name."""
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
        raise SettingsError(f"{named[0]}: the app's documents are given by `documents`; leave it out")


def load_documents_of(place: str) -> DocumentsOf:
    """Return the function at `MODULE:NAME`, or one that reads a JSON file: user, or `*` for others → names of sets.

    The file is read for each question; one that cannot be read is a SettingsError, and nobody asks anything.
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
    """Read sets of documents from a variable's JSON, name → retriever; a SettingsError for anything else."""
    try:
        return TypeAdapter(dict[str, str]).validate_json(text)
    except ValidationError:
        raise SettingsError(f"{variable}: write JSON such as {json.dumps({'hr': 'bm25:/srv/hr'})}") from None

"""Find a model's files: in a folder, in the hub's cache on this machine, or on the hub itself."""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.model_specs import NamedModel

REACH_SECONDS = 10.0
"""How long the hub may take to say which files a model has."""
M3_HEADS = ("colbert_linear.pt", "sparse_linear.pt")
"""BGE-M3's layers besides its encoder, which FlagEmbedding reads as tensors alone."""
_KEPT = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".jinja", ".metadata"})
_OTHER_RUNTIMES = frozenset({"onnx", "openvino", "coreml", "tf", "flax", "original"})


def locate(named: NamedModel) -> Path:
    """Return the folder with a model's files; they are downloaded where they are in no folder and no cache.

    A cached model is not looked up on the hub, so that it opens at once and without network.

    Raises:
        SpecError: no such folder and no such model, or the hub cannot be reached; the message says what was tried.
    """
    folder = Path(named.name).expanduser()
    if folder.is_dir():
        return _checked(named, folder.resolve())
    is_path = named.name.startswith((".", "/", "~")) or named.name.endswith("/") or "\\" in named.name
    if is_path or named.name.count("/") > 1:  # names on the hub are NAME or OWNER/NAME
        raise SpecError(f"{named.spec!r}: there is no folder {named.name}")
    hub = require("huggingface_hub")
    cached = _cached(hub, named)
    return cached or _checked(named, _downloaded(hub, named))


def _checked(named: NamedModel, folder: Path) -> Path:
    """Refuse a folder that cannot hold a model, before a library says so at length."""
    if not any((folder / name).is_file() for name in ("config.json", "modules.json")):
        raise SpecError(f"{named.spec!r}: {folder} holds no model: it has no config.json")
    if not _has_weights(folder):
        raise SpecError(f"{named.spec!r}: {folder} holds no weights: its .safetensors (or .bin) files are missing")
    return folder


def _has_weights(folder: Path) -> bool:
    """Whether the weights and all of their parts are there: a download may have been interrupted."""
    indexes = [*folder.glob("*.safetensors.index.json"), *folder.glob("*.bin.index.json")]
    if indexes:
        return any(all((folder / part).is_file() for part in _parts(index)) for index in indexes)
    return any(True for suffix in ("safetensors", "bin") for _ in folder.rglob(f"*.{suffix}"))


def _parts(index: Path) -> set[str]:
    """Return the files that an index of weights lists; for a damaged index one that does not exist."""
    try:
        return set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError):
        return {f"(unreadable: {index.name})"}


def _cached(hub: Any, named: NamedModel) -> Path | None:
    """Return the cache's folder, if a complete model is there."""
    errors = require("huggingface_hub.errors")
    try:
        found = hub.snapshot_download(named.name, revision=named.options.get("revision"), local_files_only=True)
    except errors.HFValidationError as error:
        raise SpecError(f"{named.spec!r}: {named.name!r} is neither a folder nor a model's name ({error})") from None
    except (OSError, ValueError):  # not in the cache
        return None
    folder = Path(found)
    return folder if (folder / "config.json").is_file() and _has_weights(folder) else None


def _downloaded(hub: Any, named: NamedModel) -> Path:
    errors = require("huggingface_hub.errors")
    address = os.environ.get("HF_ENDPOINT") or hub.constants.ENDPOINT
    tried = f"tried the folder {Path(named.name).absolute()}, the cache and {address}/{named.name}"
    revision = named.options.get("revision")
    try:
        about = hub.HfApi(endpoint=address).model_info(named.name, revision=revision, timeout=REACH_SECONDS)
        wanted = wanted_files([each.rfilename for each in about.siblings or ()])
        return Path(hub.snapshot_download(named.name, revision=revision, allow_patterns=wanted, endpoint=address))
    except errors.GatedRepoError:
        raise SpecError(f"{named.spec!r}: this model asks for consent; give it on its page and set HF_TOKEN") from None
    except errors.RepositoryNotFoundError:
        raise SpecError(f"{named.spec!r}: there is no such model; {tried}") from None
    except errors.RevisionNotFoundError:
        raise SpecError(f"{named.spec!r}: the model has no revision {revision!r}") from None
    except (OSError, errors.HfHubHTTPError, *_transport_errors()) as error:
        said = " ".join(str(error).split())[:160] or type(error).__name__
        raise SpecError(
            f"{named.spec!r}: the model is not on this machine and the hub cannot be reached; {tried} ({said})"
        ) from None


def _transport_errors() -> list[type[Exception]]:
    """Return the base errors of the HTTP packages that the hub's versions use; those of `requests` are OSErrors."""
    return [sys.modules[name].HTTPError for name in ("httpx", "httpx2") if name in sys.modules]


def wanted_files(names: Sequence[str]) -> list[str]:
    """Return the files to download: those of torch and of the tokenizer, no code, and safetensors over pickles.

    Order: as given. `.bin` files are taken only in folders without `.safetensors`; they are then read
    as tensors alone.
    """
    kept = [
        path
        for name in names
        if ((path := PurePosixPath(name)).suffix in _KEPT or name in M3_HEADS)
        and not _OTHER_RUNTIMES.intersection(path.parts[:-1])
    ]
    suffixes: defaultdict[PurePosixPath, set[str]] = defaultdict(set)
    for path in kept:
        suffixes[path.parent].add(path.suffix)
    return [str(path) for path in kept if path.suffix != ".bin" or ".safetensors" not in suffixes[path.parent]]

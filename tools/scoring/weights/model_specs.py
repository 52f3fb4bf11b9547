"""Specs of models with weights, `KIND:NAME_OR_PATH?option=value&…`: where a model runs, and where its files are."""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact

LOCAL_OPTIONS = ("device", "dtype", "revision", "max_length", "batch_tokens")
"""The options of every model that runs in this process."""

ModelT = TypeVar("ModelT")
ShareT = TypeVar("ShareT")


@dataclass(frozen=True)
class ModelSpec:
    """A parsed spec."""

    spec: str
    kind: str
    name: str
    """A model's name on the hub, or a folder."""
    options: Mapping[str, str]

    @property
    def limits(self) -> tuple[str | None, ...]:
        """Options, other than those of its placement, in which two loaded models may differ."""
        return tuple(self.options.get(option) for option in ("max_length", "batch_tokens", "label"))


def parse_spec(spec: str, allowed: Sequence[str] = LOCAL_OPTIONS) -> ModelSpec:
    """Parse a spec; SpecError if it names no model, or has an option that is not among `allowed`."""
    spec = spec.strip()
    kind, _, rest = spec.partition(":")
    name, _, query = rest.partition("?")
    if not name:
        raise SpecError(f"{spec!r} names no model: write {kind}:NAME_OR_PATH")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in allowed:
            raise SpecError(f"option {option!r} of {redact(spec)!r} is unknown; valid: {', '.join(allowed)}")
    return ModelSpec(spec, kind, name, options)


def number_option(named: ModelSpec, option: str, default: int) -> int:
    """Return an option's value, an integer from 1 (else SpecError), or `default`."""
    text = named.options.get(option)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise SpecError(f"option {option!r} of {named.spec!r} must be a whole number of at least 1, got {text!r}")
    return int(text)


def share_option(named: ModelSpec, option: str, default: ShareT) -> float | ShareT:
    """Return an option's value, a number from 0 to 1 (else SpecError), or `default`."""
    text = named.options.get(option)
    if text is None:
        return default
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SpecError(f"option {option!r} of {named.spec!r} must be a number from 0 to 1, got {text!r}")
    return share


def resolve_by_kind(
    what: str, spec: str, kinds: Mapping[str, Callable[[str], ModelT]], valid: str, hint: str = ""
) -> ModelT:
    """Call the function in `kinds` for the part of the spec before its colon; SpecError if there is none."""
    kind, colon, _ = spec.partition(":")
    if not colon or kind not in kinds:
        raise SpecError(f"{what} {redact(spec)!r} is unknown{hint}; use one of: {valid}")
    return kinds[kind](spec)


DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""Precisions by their names in specs, with those in torch."""


@dataclass(frozen=True)
class Placement:
    """Where a model runs, and with which precision."""

    device: str
    """A torch device: cpu, cuda:0, mps."""
    dtype: str
    """fp32, fp16 or bf16."""

    @property
    def torch_dtype(self) -> Any:
        """The precision as a torch dtype."""
        return getattr(require("torch"), DTYPES[self.dtype])


def placement_of(named: ModelSpec) -> Placement:
    """Return device and precision from the spec, else `HOPGRAPH_DEVICE` and `HOPGRAPH_DTYPE`, else the defaults.

    The default device (`auto`) is the first GPU if there is one, else the CPU; the default precision is fp32, for which
    the papers' thresholds were found. SpecError for an unknown value, or one that this machine does not support.
    """
    device, device_source = _setting(named, "device", "auto")
    dtype, dtype_source = _setting(named, "dtype", "fp32")
    if dtype not in DTYPES:
        raise SpecError(f"{dtype_source}: precision {dtype!r} is unknown; use one of: {', '.join(DTYPES)}")
    device = _device(device, device_source)
    if dtype == "fp16" and device == "cpu":
        raise SpecError(f"{dtype_source}: fp16 needs a GPU, and this model runs on the CPU; use fp32 or bf16")
    return Placement(device, dtype)


def _setting(named: ModelSpec, option: str, default: str) -> tuple[str, str]:
    """Return the value, and the spec or variable that sets it."""
    if option in named.options:
        return named.options[option], named.spec
    variable = f"HOPGRAPH_{option.upper()}"
    return os.environ.get(variable) or default, variable


def _device(name: str, source: str) -> str:
    torch = require("torch")
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda:0" if gpus else "cpu"
    kind, _, number = name.partition(":")
    if kind not in {"cpu", "cuda", "mps"} or (number and not number.isdecimal()):
        raise SpecError(f"{source}: device {name!r} is unknown; use auto, cpu, cuda, cuda:NUMBER or mps")
    if (kind == "cuda" and int(number or 0) >= gpus) or (kind == "mps" and not torch.backends.mps.is_available()):
        raise SpecError(f"{source}: device {name!r} is not available: torch sees {gpus} CUDA devices; use cpu")
    return f"cuda:{number or 0}" if kind == "cuda" else kind


REACH_SECONDS = 10.0
"""Timeout for the hub's list of a model's files."""
M3_HEADS = ("colbert_linear.pt", "sparse_linear.pt")
"""BGE-M3's layers outside its encoder, which FlagEmbedding reads as tensors only."""
_KEPT = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".jinja", ".metadata"})
_OTHER_RUNTIMES = frozenset({"onnx", "openvino", "coreml", "tf", "flax", "original"})


def locate(named: ModelSpec) -> Path:
    """Return the folder with a model's files; download them if they are neither in a folder nor in the cache.

    A cached model is not looked up on the hub, so that it opens at once and offline. SpecError, which says what was
    tried, if there is no such folder or model, or the hub cannot be reached.
    """
    folder = Path(named.name).expanduser()
    if folder.is_dir():
        return _checked(named, folder.resolve())
    is_path = named.name.startswith((".", "/", "~")) or named.name.endswith("/") or "\\" in named.name
    if is_path or named.name.count("/") > 1:  # names on the hub are NAME or OWNER/NAME
        raise SpecError(f"{named.spec!r}: there is no folder {named.name}")
    hub = require("huggingface_hub")
    return _cached(hub, named) or _checked(named, _downloaded(hub, named))


def _checked(named: ModelSpec, folder: Path) -> Path:
    """Return a folder that can hold a model, else raise SpecError before a library fails with a long message."""
    if not any((folder / name).is_file() for name in ("config.json", "modules.json")):
        raise SpecError(f"{named.spec!r}: {folder} contains no model: it has no config.json")
    if not _has_weights(folder):
        raise SpecError(f"{named.spec!r}: {folder} contains no weights: its .safetensors (or .bin) files are missing")
    return folder


def _has_weights(folder: Path) -> bool:
    """Return whether all parts of the weights are there; a download may have been interrupted."""
    indexes = [*folder.glob("*.safetensors.index.json"), *folder.glob("*.bin.index.json")]
    if indexes:
        return any(all((folder / part).is_file() for part in _parts(index)) for index in indexes)
    return any(True for suffix in ("safetensors", "bin") for _ in folder.rglob(f"*.{suffix}"))


def _parts(index: Path) -> set[str]:
    """Return the files that a weights index lists; for a damaged index, one that does not exist."""
    try:
        return set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError):
        return {f"(unreadable: {index.name})"}


def _cached(hub: Any, named: ModelSpec) -> Path | None:
    errors = require("huggingface_hub.errors")
    try:
        found = hub.snapshot_download(named.name, revision=named.options.get("revision"), local_files_only=True)
    except errors.HFValidationError as error:
        raise SpecError(f"{named.spec!r}: {named.name!r} is neither a folder nor a model's name ({error})") from None
    except (OSError, ValueError):  # not in the cache
        return None
    folder = Path(found)
    return folder if (folder / "config.json").is_file() and _has_weights(folder) else None


def _downloaded(hub: Any, named: ModelSpec) -> Path:
    address, revision = os.environ.get("HF_ENDPOINT") or hub.constants.ENDPOINT, named.options.get("revision")
    try:
        about = hub.HfApi(endpoint=address).model_info(named.name, revision=revision, timeout=REACH_SECONDS)
        wanted = wanted_files([each.rfilename for each in about.siblings or ()])
        return Path(hub.snapshot_download(named.name, revision=revision, allow_patterns=wanted, endpoint=address))
    except (OSError, require("huggingface_hub.errors").HfHubHTTPError, *_transport_errors()) as error:
        tried = f"tried the folder {Path(named.name).absolute()}, the cache and {address}/{named.name}"
        said = " ".join(str(error).split())[:400] or type(error).__name__
        raise SpecError(f"{named.spec!r}: the model cannot be found; {tried} ({said})") from None


def _transport_errors() -> list[type[Exception]]:
    """Return the base errors of the HTTP packages that the hub's versions use; those of `requests` are OSErrors."""
    return [sys.modules[name].HTTPError for name in ("httpx", "httpx2") if name in sys.modules]


def wanted_files(names: Sequence[str]) -> list[str]:
    """Return the files to download, in order: those of torch and of the tokenizer, no code.

    `.bin` files are wanted only in folders without `.safetensors`; they are then read as tensors only.
    """
    paths = [PurePosixPath(name) for name in names if PurePosixPath(name).suffix in _KEPT or name in M3_HEADS]
    kept = [path for path in paths if _OTHER_RUNTIMES.isdisjoint(path.parts[:-1])]
    suffixes: defaultdict[PurePosixPath, set[str]] = defaultdict(set)
    for path in kept:
        suffixes[path.parent].add(path.suffix)
    return [str(path) for path in kept if path.suffix != ".bin" or ".safetensors" not in suffixes[path.parent]]

"""Specs of models with weights, `KIND:NAME_OR_PATH?option=value&…`, and where they say that a model runs."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
class NamedModel:
    """A parsed spec."""

    spec: str
    """As given, stripped."""
    kind: str
    name: str
    """A model's name on the hub, or a folder."""
    options: Mapping[str, str]

    @property
    def limits(self) -> tuple[str | None, ...]:
        """The options besides its place that make two loaded models different."""
        return tuple(self.options.get(option) for option in ("max_length", "batch_tokens", "label"))


def read_spec(spec: str, allowed: Sequence[str] = LOCAL_OPTIONS) -> NamedModel:
    """Parse a spec; SpecError where nothing follows the colon, or an option is not among `allowed`."""
    spec = spec.strip()
    kind, _, rest = spec.partition(":")
    name, _, query = rest.partition("?")
    if not name:
        raise SpecError(f"{spec!r} lacks a model: write {kind}:NAME_OR_PATH")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in allowed:
            raise SpecError(f"option {option!r} of {redact(spec)!r} is unknown; valid: {', '.join(allowed)}")
    return NamedModel(spec, kind, name, options)


def number_option(named: NamedModel, option: str, default: int) -> int:
    """Return an option's value, a whole number from 1 on (else SpecError); `default` where it is not given."""
    text = named.options.get(option)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise SpecError(f"option {option!r} of {named.spec!r} must be a whole number of at least 1, got {text!r}")
    return int(text)


def share_option(named: NamedModel, option: str, default: ShareT) -> float | ShareT:
    """Return an option's value, a number from 0 to 1, else SpecError; `default` where it is not given."""
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
    """Return what `kinds` makes of a whole spec, by the part before its colon.

    SpecError, where there is no such kind, says `what` was asked for, the `hint` and the `valid` specs.
    """
    kind, colon, _ = spec.partition(":")
    if not colon or kind not in kinds:
        raise SpecError(f"{what} {redact(spec)!r} is unknown{hint}; use one of: {valid}")
    return kinds[kind](spec)


DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""Names of precisions in specs, and in torch."""
_UNKNOWN_FREE = 2 * 1024**3


@dataclass(frozen=True)
class Placement:
    """Where a model runs, and how precisely."""

    device: str
    """A torch device: cpu, cuda:0, mps."""
    dtype: str
    """fp32, fp16 or bf16."""

    @property
    def torch_dtype(self) -> Any:
        """The precision as a torch dtype."""
        return getattr(require("torch"), DTYPES[self.dtype])


def placement_of(named: NamedModel) -> Placement:
    """Return device and precision: the spec's, else `HOPGRAPH_DEVICE` and `HOPGRAPH_DTYPE`, else the defaults.

    The default device (`auto`) is the first GPU if there is one, else the CPU; the default precision is fp32,
    in which the papers' thresholds were found.

    Raises:
        SpecError: an unknown device or precision, or one that this machine does not have.
    """
    device, device_source = _setting(named, "device", "auto")
    dtype, dtype_source = _setting(named, "dtype", "fp32")
    if dtype not in DTYPES:
        raise SpecError(f"{dtype_source}: precision {dtype!r} is unknown; use one of: {', '.join(DTYPES)}")
    device = _device(device, device_source)
    if dtype == "fp16" and device == "cpu":
        raise SpecError(f"{dtype_source}: fp16 needs a GPU, and this model runs on the CPU; use fp32 or bf16")
    return Placement(device, dtype)


def _setting(named: NamedModel, option: str, default: str) -> tuple[str, str]:
    """Return the value, and the spec or variable that gives it."""
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
        raise SpecError(f"{source}: device {name!r} is not there: torch sees {gpus} CUDA devices; use cpu")
    return f"cuda:{number or 0}" if kind == "cuda" else kind


def free_bytes(device: str) -> int:
    """Return the free memory of a device; 2 GiB where the system does not say."""
    if device.startswith("cuda"):
        return int(require("torch").cuda.mem_get_info(device)[0])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _UNKNOWN_FREE

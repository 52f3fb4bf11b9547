"""Which device a model runs on, in which precision, and how much memory is free there."""

import os
from dataclasses import dataclass
from typing import Any

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.scoring.weights.model_specs import NamedModel

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
    if kind == "cuda" and int(number or 0) >= gpus:
        raise SpecError(f"{source}: device {name!r} is not there: torch sees {gpus} CUDA devices; use cpu")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise SpecError(f"{source}: device 'mps' is not there; use cpu")
    return f"cuda:{number or 0}" if kind == "cuda" else kind


def free_bytes(device: str) -> int:
    """Return the free memory of a device; 2 GiB where the system does not say."""
    if device.startswith("cuda"):
        return int(require("torch").cuda.mem_get_info(device)[0])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _UNKNOWN_FREE

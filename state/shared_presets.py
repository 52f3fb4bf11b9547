"""The presets of methods whose settings do not depend on the data set."""

from typing import Any

FAMILIES: dict[str, dict[str, Any]] = {
    "multi_hop": {},
    "open_domain": {},
    "yes_no": {"answer_type": "yes_no"},
}
"""By family of data sets."""

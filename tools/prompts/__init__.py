"""Prompts: files, worked examples, and the delimiting of untrusted text."""

from hopgraph.tools.prompts.delimit import Value, block, clean, escape, restore
from hopgraph.tools.prompts.demonstrations import check_demonstrations, read_demonstrations
from hopgraph.tools.prompts.prompt_files import (
    FAMILIES,
    check_folder,
    is_at_hand,
    prompt_files,
    prompts_root,
    read_prompt,
)
from hopgraph.tools.prompts.render import render

__all__ = [
    "FAMILIES",
    "Value",
    "block",
    "check_demonstrations",
    "check_folder",
    "clean",
    "escape",
    "is_at_hand",
    "prompt_files",
    "prompts_root",
    "read_demonstrations",
    "read_prompt",
    "render",
    "restore",
]

"""Prompt files, demonstrations, and delimiters for untrusted text."""

from hopgraph.tools.prompts.delimit import Value, clean, escape, format_attribute, format_block, unescape
from hopgraph.tools.prompts.prompt_files import (
    FAMILIES,
    check_prompt_names,
    check_prompts_dir,
    is_prompt_loaded,
    list_prompt_files,
    prompts_root,
    read_prompt,
)
from hopgraph.tools.prompts.render import check_demonstrations, read_demonstrations, render

__all__ = [
    "FAMILIES",
    "Value",
    "check_demonstrations",
    "check_prompt_names",
    "check_prompts_dir",
    "clean",
    "escape",
    "format_attribute",
    "format_block",
    "is_prompt_loaded",
    "list_prompt_files",
    "prompts_root",
    "read_demonstrations",
    "read_prompt",
    "render",
    "unescape",
]

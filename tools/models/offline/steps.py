"""What the offline model replies to the steps of hop-by-hop, filtering, reviewing and plain reading methods."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from hopgraph.tools.models.offline.answer import Finding, find, gather
from hopgraph.tools.models.offline.blocks import Prompt, unescape
from hopgraph.tools.models.offline.parts import Told, asks_of, left_of, parts, told
from hopgraph.tools.models.offline.queries import next_queries
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.select import Sentence, sentences, useful
from hopgraph.tools.models.offline.terms import key

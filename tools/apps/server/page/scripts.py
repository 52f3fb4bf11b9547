"""The few things that the page does in the browser by itself."""

TOGGLE = """() => {{
  const columns = document.getElementById("hg-columns");
  columns.dataset.shown = columns.dataset.shown === "{side}" ? "" : "{side}";
}}"""
"""On a narrow screen the columns at the sides are shown one at a time, over the conversation."""

CLOSE = """() => { document.getElementById("hg-columns").dataset.shown = ""; }"""
"""Back to the conversation."""

_REMEMBER_FOLDS = """
const folds = new Map();
const eachFold = (turn, act) => turn.querySelectorAll("details").forEach(
  (part, at) => act(part, `${turn.dataset.turn} ${at}`));
talk.addEventListener("click", ({target}) => {
  const part = target.closest("summary")?.parentElement, turn = part?.closest(".hg-turn");
  if (turn) eachFold(turn, (each, key) => { if (each === part) folds.set(key, !part.open); });
});
new MutationObserver(() => talk.querySelectorAll(".hg-turn").forEach((turn) => eachFold(turn, (part, key) => {
  if (folds.has(key) && part.open !== folds.get(key)) part.open = folds.get(key);
}))).observe(talk, {subtree: true, childList: true, attributes: true, attributeFilter: ["open", "data-turn"]});
"""
"""What somebody folded or unfolded in a turn stays so while steps go on arriving, and when another turn follows.

By the turn and the part's number in it: the elements themselves are used again for other turns.
"""

_FOLLOW = """
let follows = true, top = 0, shown = "";
const left = () => talk.scrollHeight - talk.clientHeight - talk.scrollTop;
const follow = () => {
  if (!follows) return;
  const review = talk.querySelector(".hg-review");
  const start = review ? review.getBoundingClientRect().top - talk.getBoundingClientRect().top - 8 : left();
  talk.scrollTop += Math.min(left(), start);
  top = talk.scrollTop;
};
talk.addEventListener("scroll", () => {
  follows = talk.scrollTop < top ? left() < 2 : follows || left() < 40;
  top = talk.scrollTop;
});
talk.addEventListener("click", ({target}) => { if (target.closest("summary")) follows = false; });
talk.addEventListener("toggle", () => { follows ||= left() < 40; }, true);
new MutationObserver(() => {
  const now = [...element.children].map((each) => each.dataset.turn || each.className).join();
  follows ||= now !== shown;
  shown = now;
  follow();
}).observe(talk, {subtree: true, childList: true, characterData: true, attributes: true,
  attributeFilter: ["data-turn"]});
const sizes = new ResizeObserver(follow);
for (const each of [talk, ...talk.children]) sizes.observe(each);
"""
"""A new turn, and a thread that is opened, are shown to their end, which stays in view while the turn grows.

Until somebody scrolls up or unfolds something; from the end on it is followed again. A review is shown from its start.
"""

_ESCAPE = """
document.addEventListener("keydown", ({key, target}) => {
  const columns = document.getElementById("hg-columns"), side = columns?.dataset.shown;
  if (key !== "Escape" || !side || target.getAttribute?.("aria-expanded") === "true") return;
  if (document.querySelector(":popover-open")) return;
  columns.dataset.shown = "";
  document.querySelectorAll("#hg-top .hg-toggle")[side === "left" ? 0 : 1].focus();
}, true);
"""
"""Escape leads back to the conversation, too, unless it closes something else."""

_ONE_LIST = """
new MutationObserver(() => {
  for (const each of document.querySelectorAll(".hg-threads input[type=radio]"))
    if (each.name !== "hg-thread") each.name = "hg-thread";
}).observe(document.getElementById("hg-left"), {subtree: true, childList: true, attributeFilter: ["name"]});
"""
"""The conversations are one group for the keyboard: a single stop for Tab, and the arrow keys go through it."""

ON_LOAD = "".join(
    [
        'const talk = document.getElementById("hg-talk");\n',
        *(f"{{{script}}}\n" for script in (_REMEMBER_FOLDS, _FOLLOW, _ESCAPE, _ONE_LIST)),
    ]
)
"""For `js_on_load` of the last turn's element, which it calls `element`; each part in a block of its own."""

const talk = document.getElementById("hg-talk");

/* What was folded or unfolded in a turn stays so while steps arrive, and when another turn follows.
   By the turn and the part's number in it: the elements themselves are reused for other turns. */
{
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
}

/* A new turn, and a thread that is opened, are shown to their end, which stays in view while the turn grows,
   until the person scrolls up or unfolds something; at the end it is followed again. A review is shown from its start. */
{
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
}

/* Escape leads back to the conversation, too, unless it closes something else. */
{
document.addEventListener("keydown", ({key, target}) => {
  const columns = document.getElementById("hg-columns"), side = columns?.dataset.shown;
  if (key !== "Escape" || !side || target.getAttribute?.("aria-expanded") === "true") return;
  if (document.querySelector(":popover-open")) return;
  columns.dataset.shown = "";
  document.querySelectorAll("#hg-top .hg-toggle")[side === "left" ? 0 : 1].focus();
}, true);
}

/* The conversations are one group for the keyboard: a single stop for Tab, and the arrow keys go through it. */
{
new MutationObserver(() => {
  for (const each of document.querySelectorAll(".hg-threads input[type=radio]"))
    if (each.name !== "hg-thread") each.name = "hg-thread";
}).observe(document.getElementById("hg-left"), {subtree: true, childList: true, attributeFilter: ["name"]});
}

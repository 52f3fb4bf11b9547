"""The few things that the page does in the browser by itself."""

TOGGLE = """() => {{
  const columns = document.getElementById("hg-columns");
  columns.dataset.shown = columns.dataset.shown === "{side}" ? "" : "{side}";
}}"""
"""On a narrow screen the columns at the sides are shown one at a time, over the conversation."""

CLOSE = """() => { document.getElementById("hg-columns").dataset.shown = ""; }"""
"""Back to the conversation."""

REMEMBER_FOLDS = """
const wanted = new WeakMap();
element.addEventListener("click", (event) => {
  const summary = event.target.closest("summary");
  if (summary) wanted.set(summary.parentElement, !summary.parentElement.open);
});
new MutationObserver((changes) => {
  for (const {target} of changes)
    if (wanted.has(target) && target.open !== wanted.get(target)) target.open = wanted.get(target);
}).observe(element, {subtree: true, attributes: true, attributeFilter: ["open"]});
"""
"""What somebody folded or unfolded stays so while the steps below it go on arriving."""

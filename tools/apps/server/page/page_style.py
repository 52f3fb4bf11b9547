"""How the chat page looks: the theme, and the parts that are drawn here. Where they stand is said in `layout`.

Nothing is fetched: the fonts are those of the reader's system.
"""

from typing import Any

from hopgraph.tools.io.optional_packages import require

_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Noto Sans", "sans-serif")
_MONO = ("ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "monospace")

CSS = """
body{--hg-line:#cbd5e1;--hg-card:#ffffff;--hg-text:#1e293b;--hg-dim:#526075;--hg-yes:#15803d;--hg-yes-fill:#f0fdf4;
  --hg-no:#9f1239;--hg-next:#4338ca;--hg-next-fill:#f5f5ff;--hg-star:#a16207;--hg-mark:#fde68a;--hg-mark-text:#1c1917}
body.dark{--hg-line:#475569;--hg-card:#182235;--hg-text:#e2e8f0;--hg-dim:#a3b1c6;--hg-yes:#4ade80;--hg-yes-fill:#12291f;
  --hg-no:#fda4af;--hg-next:#a5b4fc;--hg-next-fill:#1e2447;--hg-star:#facc15;--hg-mark:#854d0e;--hg-mark-text:#fffbeb}
footer{display:none !important}
button:focus-visible,summary:focus-visible,a:focus-visible,[tabindex]:focus-visible,input:focus-visible,
textarea:focus-visible{outline:2px solid var(--hg-next) !important;outline-offset:2px}
textarea:focus-visible,input:is([type=text],[type=number]):focus-visible,
:is(.upload-container,.reset-button):focus-visible{outline-offset:-2px}
button,summary,a,input,textarea{scroll-margin:8px}
#hg-index{margin-top:6px}
.wrap:not(:has(input:focus))>.options{display:none}

.hg-said{font-size:16px;line-height:1.55;white-space:pre-wrap}
.hg-cite,.hg-number{display:inline-flex;align-items:center;justify-content:center;min-width:22px;height:22px;
  padding:0 5px;border-radius:7px;font-size:12px;font-weight:650;line-height:1;color:var(--hg-next);
  background:var(--hg-next-fill);border:1px solid var(--hg-next)}
.hg-cite{margin:0 1px;vertical-align:1px;cursor:pointer}
.hg-cite:hover,.hg-cite:focus-visible{color:var(--hg-card);background:var(--hg-next)}
.hg-sources{list-style:none;counter-reset:source;margin:12px 0 0 !important;padding:0 !important;display:grid;gap:6px}
.hg-sources li{counter-increment:source;margin:0;padding:0 0 0 26px;position:relative;font-size:13.5px;line-height:1.45;
  color:var(--hg-dim)}
.hg-sources li::before{content:counter(source);position:absolute;left:4px;font-weight:650;color:var(--hg-next)}
.hg-source{display:inline;padding:0;margin:0 8px 0 0;border:0;background:none;cursor:pointer;text-align:left;
  font:inherit;font-weight:600;color:var(--hg-text);text-decoration:underline;text-decoration-color:var(--hg-line);
  text-underline-offset:3px}
.hg-source:hover{text-decoration-color:currentColor}
.hg-by-other .hg-source{font-style:italic;color:var(--hg-dim)}
.hg-opened{inset:0;margin:auto !important;width:min(640px,calc(100vw - 24px));height:fit-content;
  max-height:min(76dvh,640px);padding:0;overflow:hidden;border:1px solid var(--hg-line);border-radius:14px;
  color:var(--hg-text);background:var(--hg-card);box-shadow:0 18px 60px rgb(0 0 0 / .28)}
.hg-opened:popover-open{display:flex;flex-direction:column}
.hg-opened::backdrop{background:rgb(15 23 42 / .42)}
.hg-head{display:flex;gap:12px;align-items:flex-start;justify-content:space-between;padding:14px 16px;
  border-bottom:1px solid var(--hg-line);overflow-wrap:anywhere}
.hg-head .hg-number{margin-right:6px}
.hg-close{flex:none;padding:3px 10px;border:1px solid var(--hg-line);border-radius:8px;background:none;cursor:pointer;
  font-size:13px;color:inherit}
.hg-close:hover{border-color:currentColor}
.hg-passage{padding:14px 16px 18px;overflow-y:auto;line-height:1.6;white-space:pre-wrap;overflow-wrap:anywhere}
.hg-passage:focus-visible{outline-offset:-3px}
.hg-passage p{margin:12px 0 0}
.hg-answer mark,.hg-passage mark{padding:1px 2px;border-radius:3px;background:var(--hg-mark);color:var(--hg-mark-text)}

.hg-tree svg{display:block;width:100%;height:auto;margin:0 auto;font-family:inherit}
.hg-tree text{fill:var(--hg-text)}
.hg-tree .word{font-size:12px;font-weight:650}
.hg-tree .label,.hg-tree .note{font-size:12px;fill:var(--hg-dim)}
.hg-tree .text{font-size:13.5px}
.hg-tree .asked,.hg-tree .answer{font-size:13.5px;font-weight:600}
.hg-tree .answer{fill:var(--hg-yes)}
.hg-tree .branch{fill:none;stroke:var(--hg-line);stroke-width:1.5}
.hg-tree .branch.evidence{stroke:var(--hg-yes);stroke-width:3}
.hg-tree .card{fill:var(--hg-card);stroke:var(--hg-line);stroke-width:1.2}
.hg-tree .card.accepted,.hg-tree .card.answered{fill:var(--hg-yes-fill);stroke:var(--hg-yes)}
.hg-tree .card.expanded{fill:var(--hg-next-fill);stroke:var(--hg-next)}
.hg-tree .card.rejected{stroke-dasharray:6 4}
.hg-tree .card.pruned{stroke-dasharray:1.5 3.5}
.hg-tree .card.unknown{stroke:var(--hg-no);stroke-dasharray:9 3}
.hg-tree .card.evidence{stroke:var(--hg-yes);stroke-width:2.5;stroke-dasharray:none}
.hg-tree .disc{fill:var(--hg-yes)}
.hg-tree .disc~.stroke{stroke:var(--hg-card)}
.hg-tree .star{fill:var(--hg-star)}
.hg-tree .ring{fill:none;stroke:var(--hg-dim);stroke-width:1.6}
.hg-tree .stroke{fill:none;stroke:var(--hg-dim);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.hg-tree .word{fill:var(--hg-dim)}
.hg-tree :is(.accepted,.answered)~.word{fill:var(--hg-yes)}
.hg-tree .expanded~.word{fill:var(--hg-next)}
.hg-tree .expanded~:is(.ring,.stroke){stroke:var(--hg-next)}
.hg-tree :is(.rejected,.unknown)~.word{fill:var(--hg-no)}
.hg-tree :is(.rejected,.unknown)~:is(.ring,.stroke){stroke:var(--hg-no)}

.hg-settings-group{border-radius:8px}
@media (forced-colors:active){.hg-tree .card,.hg-tree .branch{stroke:CanvasText}.hg-tree text{fill:CanvasText}}
"""
"""For `css` of `gradio.mount_gradio_app`; all colours of ours are set for light and dark at its top."""


def theme() -> Any:
    """Make the theme, for `theme` of `gradio.mount_gradio_app`.

    Raises:
        SpecError: Gradio is not installed.
    """
    gradio = require("gradio", "chat")
    return gradio.themes.Base(
        primary_hue="indigo",
        secondary_hue="indigo",
        neutral_hue="slate",
        font=list(_FONT),
        font_mono=list(_MONO),
        radius_size="md",
    ).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        background_fill_primary_dark="*neutral_900",
        background_fill_secondary="white",
        background_fill_secondary_dark="*neutral_900",
        block_background_fill="white",
        block_background_fill_dark="*neutral_900",
        block_border_width="1px",
        block_shadow="none",
        block_label_text_weight="600",
        block_title_text_weight="600",
        block_title_text_size="*text_sm",
        block_info_text_size="*text_xs",
        input_border_width="1px",
        input_border_color="*neutral_300",
        input_border_color_dark="*neutral_600",
        input_background_fill="white",
        input_background_fill_dark="*neutral_800",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_500",
        button_primary_background_fill_hover_dark="*primary_400",
        button_primary_text_color="white",
        button_primary_text_color_dark="white",
        button_large_radius="*radius_lg",
        button_small_radius="*radius_md",
    )

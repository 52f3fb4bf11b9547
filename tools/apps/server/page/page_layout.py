"""Where the parts of the page stand, and how the conversation in the middle looks.

Three columns on a wide screen, each of which scrolls by itself. On a narrow one the conversation alone, and the
others over it, one at a time. Colours are those of the theme, which has a light and a dark side.
"""

LAYOUT = """
.gradio-container{max-width:none !important;padding:0 !important;margin:0 !important}
.gradio-container>main,.gradio-container .main{padding:0 !important;max-width:none !important;margin:0 !important}
.gradio-container .main>.wrap{padding:0 !important}
.gradio-container .main .column{gap:0}
#hg-top{display:flex;flex-wrap:nowrap;align-items:center;gap:8px;height:48px;padding:0 16px;
  border-bottom:1px solid var(--border-color-primary)}
#hg-top h1{font-size:16px;font-weight:650;margin:0;letter-spacing:.01em}
#hg-top>*{flex:0 0 auto;width:auto;min-width:0 !important}
#hg-top>:first-child{flex:1 1 auto}
#hg-top .hg-toggle{display:none}
#hg-columns{display:grid;grid-template-columns:248px minmax(0,1fr) 372px;gap:0;height:calc(100dvh - 48px);
  align-items:stretch}
#hg-columns>*{min-width:0 !important;width:auto;height:100%;min-height:0}
#hg-left,#hg-right{overflow-y:auto;padding:14px;gap:12px !important;flex-wrap:nowrap}
#hg-left{border-right:1px solid var(--border-color-primary)}
#hg-right{border-left:1px solid var(--border-color-primary)}
#hg-left>*,#hg-right>*{flex:0 0 auto}
#hg-middle{display:flex;flex-wrap:nowrap;gap:0}
#hg-talk{flex:1 1 0;min-height:0;overflow-y:auto;flex-wrap:nowrap;gap:0 !important;padding:20px 24px 8px}
#hg-talk>*{flex:0 0 auto;width:100%;max-width:760px;margin:0 auto}
#hg-review{flex-grow:0 !important}
#hg-talk .block,#hg-notice,#hg-picture{padding:0;border:0;background:none;overflow:visible}
#hg-ask{flex:0 0 auto;flex-wrap:nowrap;align-items:flex-end;gap:8px;width:100%;max-width:808px;margin:0 auto;
  padding:8px 24px 4px}
#hg-ask .block{padding:0;border:0;background:none}
#hg-ask button{height:42px}
#hg-notice{flex:0 0 auto;width:100%;max-width:808px;margin:0 auto;padding:0 24px 10px}
#hg-notice p,.hg-about{margin:0;font-size:11.5px;line-height:1.4;color:var(--body-text-color-subdued)}
#hg-picture-box{max-height:46vh;overflow:auto;border:1px solid var(--border-color-primary);border-radius:8px;
  padding:8px}
.hg-nothing{margin:24px 8px;text-align:center;color:var(--body-text-color-subdued);font-size:13px}
.hg-unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}

.hg-welcome{margin:12vh auto 0;max-width:520px;text-align:center}
.hg-welcome h2{font-size:22px;font-weight:650;margin:0 0 8px}
.hg-welcome p{color:var(--body-text-color-subdued);line-height:1.55}
.hg-turn{margin:0 0 28px;font-size:15px;line-height:1.55;overflow-wrap:anywhere}
.hg-asked{width:fit-content;max-width:85%;margin:0 0 12px auto;padding:8px 14px;border-radius:16px 16px 4px 16px;
  background:var(--background-fill-secondary);border:1px solid var(--border-color-primary);white-space:pre-wrap}
.hg-reply p{margin:6px 0}
.hg-steps .hg-about{margin:2px 0 6px 23px}
.hg-note{color:var(--body-text-color-subdued)}
.hg-problem{padding:8px 12px;border-radius:8px;border:1px solid var(--error-border-color);
  background:var(--error-background-fill);color:var(--error-text-color)}

.hg-steps{margin:0 0 10px;font-size:13px;line-height:1.45;color:var(--body-text-color-subdued)}
.hg-steps summary{cursor:pointer;border-radius:6px;padding:3px 4px;width:fit-content;max-width:100%}
.hg-steps summary:hover{color:var(--body-text-color)}
.hg-steps>summary{font-weight:550}
.hg-steps ul{list-style:none;margin:0;padding:0 0 0 14px}
.hg-steps li{margin:2px 0;padding:0}
.hg-steps>ul,.hg-steps .hg-group>ul{border-left:2px solid var(--border-color-primary);margin-left:9px}
.hg-steps .hg-group{margin-left:9px}
.hg-steps .hg-group>summary{font-weight:550}
.hg-step:not(:has(details)){padding:3px 4px 3px 19px}
.hg-label{display:inline-block;min-width:62px;margin-right:8px;font-weight:550;color:var(--body-text-color)}
.hg-good{color:var(--hg-good)}
.hg-bad{color:var(--hg-bad)}
.hg-warning{color:var(--hg-warning)}
.hg-steps li li{padding-left:19px}
body{--hg-good:#15803d;--hg-bad:#b91c1c;--hg-warning:#a16207}
body.dark{--hg-good:#4ade80;--hg-bad:#f87171;--hg-warning:#facc15}
.hg-running>summary::after{content:"";display:inline-block;width:10px;height:10px;margin-left:8px;border-radius:50%;
  border:2px solid currentColor;border-top-color:transparent;vertical-align:-1px;
  animation:hg-turning .9s linear infinite}
@keyframes hg-turning{to{transform:rotate(360deg)}}
@media (prefers-reduced-motion:reduce){.hg-running>summary::after{animation-duration:4s}}
.hg-review{gap:12px !important;margin:0 0 16px;padding:14px;border:1px solid var(--border-color-primary);
  border-radius:12px;background:var(--block-background-fill)}
.hg-review .block,.hg-review .form,.hg-review .row{padding:0;border:0;background:none;overflow:visible}
.hg-review .row{gap:10px}
.hg-review-head h3{margin:0;font-size:15px;font-weight:650}
.hg-review-head p{margin:2px 0;font-size:13px;color:var(--body-text-color-subdued)}
.hg-review .hg-review-row{flex-wrap:nowrap;align-items:center}
.hg-review-row .block:has(input[type=checkbox]){flex:0 0 76px !important;min-width:0 !important}
.hg-review-row .form{flex-wrap:nowrap;align-items:center;gap:10px;min-width:0 !important}
.hg-review-row .form>:has(textarea){min-width:0 !important}

#hg-left .form,#hg-left .hg-threads{border:0;background:none}
.hg-manage{gap:8px !important;padding-top:12px;border-top:1px solid var(--border-color-primary)}
.hg-manage .block{padding:0;border:0;background:none}
.hg-manage .row{gap:8px}
.hg-sure p{margin:4px 0;font-size:13px}
.hg-threads .wrap{display:flex;flex-direction:column;flex-wrap:nowrap;gap:2px}
.hg-threads label{width:100%;min-width:0;border:0;background:none;box-shadow:none;padding:6px 8px;border-radius:6px}
.hg-threads label:hover{background:var(--background-fill-secondary)}
.hg-threads label.selected{background:var(--background-fill-secondary);font-weight:550;color:var(--body-text-color)}
.hg-threads label input{position:absolute;opacity:0;pointer-events:none}
.hg-threads label span{margin:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.hg-threads label:has(input:focus-visible){outline:2px solid var(--color-accent);outline-offset:-2px}
.hg-threads{padding:0 !important;display:flex;flex-direction:column;min-height:0}
#hg-left>.form{flex-shrink:1;min-height:0;display:flex;flex-direction:column;flex-wrap:nowrap}
.hg-threads>.wrap{min-height:0;overflow-y:auto}
.hg-threads>.wrap label{flex:0 0 auto;position:relative}
@media (max-height:520px){#hg-left>.form{flex-shrink:0}}
:focus-visible{outline:2px solid var(--color-accent) !important;outline-offset:2px}

@media (max-width:980px){
  #hg-top .hg-toggle{display:inline-flex}
  #hg-columns{grid-template-columns:minmax(0,1fr)}
  #hg-left,#hg-right{display:none;position:fixed;inset:48px 0 0 0;height:auto;z-index:20;border:0;
    background:var(--body-background-fill)}
  #hg-columns[data-shown=left] #hg-left,#hg-columns[data-shown=right] #hg-right{display:flex}
  #hg-talk{padding:14px 14px 6px}
  #hg-ask{padding:6px 14px 4px}
  #hg-notice{padding:0 14px 8px}
  #hg-picture-box{max-height:38dvh;flex-grow:0 !important}
}
"""

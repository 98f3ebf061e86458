/** @file How the page looks: light and dark, narrow and printed. No font and no picture comes from elsewhere. */

const light = `--bg:#fff;--panel:#f6f7f8;--line:#d5d9dd;--text:#15191c;--dim:#525a61;--link:#0b57a4;--focus:#0b57a4;
--green:#76b900;--green-soft:#c6e08f;--error:#b3261e;--error-bg:#fdecea;--warn:#7a4d00;--warn-bg:#fdf1d8;--info:#0b57a4;--info-bg:#e6f0fa;
--cost:#d9534f;--range:#15191c;--roof:#15191c;--grid:#e3e6e9;--found:#eaf5d0;--found-line:#568200;
--c1:#76b900;--c2:#8e5bd0;--c3:#1e7fd0;--c4:#12a19a;--c5:#8a9299`;

const dark = `--bg:#101315;--panel:#181c1f;--line:#343b40;--text:#e6e9eb;--dim:#a3adb5;--link:#7db8f2;--focus:#9fd134;
--green:#76b900;--green-soft:#3d5a0c;--error:#ff9d96;--error-bg:#43191a;--warn:#f3c15f;--warn-bg:#3c2d0d;--info:#8fc3f7;--info-bg:#13304b;
--cost:#e0625d;--range:#e6e9eb;--roof:#e6e9eb;--grid:#262c30;--found:#26380b;--found-line:#9fd134;
--c1:#85c91c;--c2:#ab82e8;--c3:#4aa3ef;--c4:#2fc2ba;--c5:#8a949c`;

const frame = `
*{box-sizing:border-box}
html{color-scheme:light;${light};scroll-padding-top:3.5rem}
@media (prefers-color-scheme:dark){html:not([data-theme=light]){color-scheme:dark;${dark}}}
html[data-theme=dark]{color-scheme:dark;${dark}}
body{margin:0;background:var(--bg);color:var(--text);font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
code,pre,.name,.code,svg text.op,svg text.name,svg text.type{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace}
code,pre,.name,.code{font-size:12.5px}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--focus);outline-offset:2px}
header{position:sticky;top:0;z-index:5;background:var(--bg);border-bottom:1px solid var(--line);border-top:3px solid var(--green)}
.bar{max-width:1440px;margin:0 auto;padding:.45rem 1.25rem;display:flex;gap:1rem;align-items:center;flex-wrap:wrap}
.bar button{margin-left:auto}
main,footer{max-width:1440px;margin:0 auto;padding:0 1.25rem}
footer{color:var(--dim);border-top:1px solid var(--line);margin-top:2.5rem;padding-top:.5rem;padding-bottom:1.5rem;font-size:12.5px}
h1{font-size:16px;margin:0}h1 .dim{font-weight:400}
h2{font-size:17px;margin:1.6rem 0 .6rem;overflow-wrap:anywhere}h2.name{font-size:16px}
h3{font-size:13px;margin:1.7rem 0 .5rem;text-transform:uppercase;letter-spacing:.05em;color:var(--dim)}
h3 .name{text-transform:none;letter-spacing:0}
h4{font-size:13px;margin:.9rem 0 .25rem}
p{margin:.35rem 0}
.dim,small{color:var(--dim)}
button{font:inherit;color:inherit;background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.15rem .7rem;cursor:pointer}
button:hover{border-color:var(--dim)}
.skip{position:absolute;left:-9999px}.skip:focus{left:.5rem;top:.5rem;background:var(--bg);padding:.3rem .6rem;z-index:9}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.summary{display:flex;gap:.4rem;align-items:center;flex-wrap:wrap}
#theme[aria-pressed=true]{color:var(--bg);background:var(--text);border-color:var(--text)}
.chip{display:inline-block;padding:0 .5rem;border-radius:3px;font-size:12px;font-weight:600;line-height:1.6;white-space:nowrap}
.chip.error{color:var(--error);background:var(--error-bg)}.chip.warn{color:var(--warn);background:var(--warn-bg)}.chip.info{color:var(--info);background:var(--info-bg)}.chip.none{color:var(--dim);background:var(--panel)}
.failure{color:var(--error);background:var(--error-bg);padding:.4rem .7rem;border-left:3px solid var(--error);overflow-wrap:anywhere}
.clean{color:var(--dim)}
summary{cursor:pointer}summary>h2,summary>h3{display:inline;text-transform:none;letter-spacing:0;color:inherit}
details.model{border-top:1px solid var(--line);margin-top:1.4rem;padding-top:.9rem}
.tiles{display:grid;grid-template-columns:repeat(3,minmax(0,1fr)) minmax(0,2fr);gap:.75rem;margin:.75rem 0}
.tile{background:var(--panel);border:1px solid var(--line);border-radius:5px;padding:.55rem .75rem;min-width:0}
.tile .title{font-size:12px;color:var(--dim)}.tile .value{font-size:22px;font-weight:600;font-variant-numeric:tabular-nums}.tile .words{font-weight:600;margin:.2rem 0}
.tile .dim{font-size:12.5px}
.stack{display:flex;height:12px;border-radius:2px;overflow:hidden;margin:.55rem 0 .45rem;background:var(--line)}
.legend{font-size:12.5px;color:var(--dim)}.legend .entry{white-space:nowrap;margin-right:.7rem}
.key{display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 .3rem 0 .6rem;vertical-align:-1px}.legend .entry .key,.legend>.key:first-child{margin-left:0}
.key.now,.key.conv,.key.tensor-core,.stack .conv{background:var(--c1)}.key.cuda-core,.key.attention,.stack .attention{background:var(--c2)}
.key.dram,.key.gemm,.stack .gemm{background:var(--c3)}.key.l2,.key.recurrent,.stack .recurrent{background:var(--c4)}.key.launch,.key.memory,.stack .memory{background:var(--c5)}
.key.saved{background:var(--green-soft)}.key.cost{background:var(--cost)}.key.range{background:var(--range);height:2px;vertical-align:4px}
`;

const tables = `
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:5px;background:var(--bg)}
.scroll.tall{max-height:70vh;overflow-y:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:.28rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tbody tr:last-child>*{border-bottom:0}
thead th{background:var(--panel);font-weight:600;white-space:nowrap;vertical-align:bottom;position:sticky;top:0;z-index:1}
tbody tr:hover{background:var(--panel)}
.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th button{background:none;border:0;padding:0;font-weight:600;white-space:nowrap}
th button::after{content:"";display:inline-block;width:.75em;text-align:right;color:var(--dim)}
th[aria-sort=ascending] button::after{content:"▴"/""}th[aria-sort=descending] button::after{content:"▾"/""}
table.account th[scope=row]{font-weight:600;white-space:nowrap}
table.account tbody>tr>*{vertical-align:middle}table.account .bar,table.account .axis{min-width:220px;width:38%;display:table-cell;padding-left:0;padding-right:0;max-width:none}
table.account svg{display:block;width:100%;height:28px}
table.account .how,table.account td:nth-child(5){color:var(--dim);font-size:12.5px}
.ticks{position:relative;display:block;height:1.3em;font-weight:400;font-size:11.5px;color:var(--dim)}
.ticks span{position:absolute;transform:translateX(-50%)}.ticks span:first-child{transform:none}
svg .now{fill:var(--c1)}svg .saved{fill:var(--green-soft)}svg .cost{fill:var(--cost)}
svg .range{stroke:var(--range);stroke-width:1.3px;fill:none;vector-effect:non-scaling-stroke}
.layers .tools{display:flex;gap:1rem;align-items:center;margin:.2rem 0 .5rem;flex-wrap:wrap}
.layers input{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--dim);border-radius:4px;padding:.2rem .5rem;width:19rem;max-width:70vw}
.layers .count{color:var(--dim)}.layers .more{margin:.5rem 0}
.layers td:first-child,.places td:first-child,.changes td:nth-child(2){font-family:ui-monospace,Menlo,Consolas,"Liberation Mono",monospace;font-size:12px;min-width:13rem;max-width:26rem;overflow-wrap:anywhere}
.layers td:nth-child(3){min-width:17rem;font-size:11.5px}.layers th,.layers td{padding-left:.42rem;padding-right:.42rem}
.layers td:nth-child(8),.layers td:nth-child(11){white-space:nowrap}
.layers td[style]{background:linear-gradient(var(--green-soft),var(--green-soft)) left/var(--share) 100% no-repeat}
.models td:first-child{overflow-wrap:anywhere;min-width:14rem}
.places td{font-size:12.5px}.places td{overflow-wrap:anywhere}.places td:last-child{min-width:16rem}
.changes td:last-child{overflow-wrap:anywhere}
`;

const findings = `
.finding{border:1px solid var(--line);border-left:4px solid var(--dim);border-radius:5px;margin:.55rem 0}
.finding.error{border-left-color:var(--error)}.finding.warn{border-left-color:var(--warn)}.finding.info{border-left-color:var(--info)}
.finding>summary{padding:.5rem .75rem;list-style:none;display:grid;grid-template-columns:auto auto minmax(0,1fr) auto;gap:.1rem .6rem;align-items:baseline}
.finding>summary::-webkit-details-marker{display:none}
.finding[open]>summary{border-bottom:1px solid var(--line)}
.finding .message{overflow-wrap:anywhere}.finding .saving{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.finding .where{grid-column:3/-1;color:var(--dim);overflow-wrap:anywhere}
.finding .code{font-weight:600}
.finding .body{padding:.6rem .75rem .8rem}
.facts{margin:.2rem 0 .7rem;display:grid;gap:.2rem}.facts div{display:grid;grid-template-columns:8rem minmax(0,1fr)}.facts dt{color:var(--dim)}.facts dd{margin:0;overflow-wrap:anywhere}
.facts code{background:var(--panel);padding:.1rem .35rem;border-radius:3px}
figure{margin:.6rem 0}
.graph .scroll{max-height:560px;overflow:auto;background:var(--panel);text-align:center}
.graph svg{display:inline-block;vertical-align:top}
.node rect{fill:var(--bg);stroke:var(--dim)}.node text{fill:var(--text);font-size:11px;text-anchor:middle}.node text.op{font-weight:700}.node text.type{fill:var(--dim)}
.node.found rect{fill:var(--found);stroke:var(--found-line);stroke-width:2}
.edges path{fill:none;stroke:var(--dim)}.edges path.head{fill:var(--dim);stroke:none}
.edges text{font-size:11px;fill:var(--dim);text-anchor:middle;stroke:var(--panel);stroke-width:7px;paint-order:stroke;stroke-linejoin:round}
.plot{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,3fr);gap:1rem;align-items:start}
.roofline svg{display:block;width:100%;min-width:560px;height:auto}
.roofline figcaption{font-size:12.5px;color:var(--dim);margin-top:.4rem}.roofline figcaption .legend{display:block;margin-top:.2rem}
.grid path{stroke:var(--grid)}.ticks text,svg text.title{font-size:11.5px;fill:var(--dim)}
.roofs path{stroke:var(--roof);stroke-width:1.6;fill:none}.roofs text{font-size:11.5px;fill:var(--text);stroke:var(--bg);stroke-width:4px;paint-order:stroke;stroke-linejoin:round}
.points circle{fill-opacity:.75;stroke:var(--bg);stroke-width:1}.points text{font-size:12px;font-weight:700;fill:var(--text);stroke:var(--bg);stroke-width:3.5px;paint-order:stroke;stroke-linejoin:round;pointer-events:none}
.points .tensor-core circle{fill:var(--c1)}.points .cuda-core circle{fill:var(--c2)}.points .dram circle{fill:var(--c3)}.points .l2 circle{fill:var(--c4)}.points .launch circle{fill:var(--c5)}
ol.points{margin:0;padding-left:1.6rem;font-size:12.5px}ol.points li{margin-bottom:.35rem;overflow-wrap:anywhere}ol.points .name{font-size:12px}
.notes{margin:.3rem 0;padding-left:1.2rem;overflow-wrap:anywhere}
.rules details{border-bottom:1px solid var(--line);padding:.45rem 0}.rules h3{font-size:14px}
.prose{max-width:78ch;padding:.2rem 0 .6rem 1rem}
pre{background:var(--panel);border:1px solid var(--line);border-radius:5px;padding:.5rem .7rem;overflow-x:auto}
.figure{font-size:16px}
`;

const narrow = `
@media (max-width:900px){.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.tile.wide{grid-column:1/-1}.plot{grid-template-columns:minmax(0,1fr)}}
@media (max-width:560px){header{position:static}main,footer,.bar{padding-left:.7rem;padding-right:.7rem}
.finding>summary{grid-template-columns:auto minmax(0,1fr)}.finding .message,.finding .where{grid-column:1/-1}.finding .saving{grid-column:1/-1;text-align:left}
.facts div{grid-template-columns:minmax(0,1fr)}.tiles{grid-template-columns:minmax(0,1fr)}table.account .how,table.account td:nth-child(5){min-width:12rem}}
`;

/** Where scripts do not run (an artifact in a sandbox), nothing is offered that would need one. */
const scriptless =
  "@media (scripting:none){#theme,.layers label,.layers .more{display:none}.layers th button{pointer-events:none}}";

const printed = `
@media print{html,html[data-theme=dark]{color-scheme:light;${light}}
body{font-size:10.5px}header{position:static}#theme,.skip,.layers .tools,.layers .more{display:none}
.tiles{grid-template-columns:repeat(3,minmax(0,1fr)) minmax(0,2fr)}.tile.wide{grid-column:auto}.tile .value{font-size:15px}.tile .dim,.legend,figcaption,ol.points,ol.points .name,code,span.name,.code,.account .how,.account td:nth-child(5),.account .ticks{font-size:9px!important}h2.name{font-size:13px!important}.plot{grid-template-columns:minmax(0,5fr) minmax(0,3fr)}
main,footer,.bar{max-width:none;padding-left:0;padding-right:0}
.scroll,.scroll.tall,.graph .scroll{max-height:none;overflow:visible;border:0}thead th{position:static}
table{font-size:9.5px}th,td{padding:.15rem .3rem}.layers td:first-child,.layers td:nth-child(3),.places td,.places td:nth-child(4),.places td:last-child{min-width:0;font-size:9px;overflow-wrap:anywhere}
table.account .bar,table.account .axis{min-width:120px;width:28%}
.graph svg,.roofline svg{max-width:100%;min-width:0;height:auto;max-height:22cm}
.finding,tr,figure,.tile{break-inside:avoid}.finding{break-inside:auto}h2,h3,summary{break-after:avoid}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
`;

/** Line ends are for whoever reads this file. */
export const style = [frame, tables, findings, narrow, scriptless, printed].join("").replaceAll("\n", "");

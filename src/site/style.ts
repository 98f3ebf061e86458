/** @file What the page has beside the look of reports. */

export const siteStyle = `
body.site{min-height:100vh;display:flex;flex-direction:column}
body.site header{position:static}
.site main{width:100%;padding-top:1rem;padding-bottom:1rem}
.site .promise{margin:0;color:var(--dim)}
.site form{display:grid;gap:.9rem}
.site fieldset{border:0;margin:0;padding:0;min-width:0;display:flex;gap:.9rem;flex-wrap:wrap;align-items:end}
.site .field{display:grid;gap:.15rem;font-size:12.5px}.site .field label{color:var(--dim)}
.site select,.site input[type=text]{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--dim);border-radius:4px;padding:.25rem .5rem;min-height:1.9rem;max-width:100%}
@media(max-width:600px){.site .field{flex:1 1 auto}.site .field select,.site .field input{width:100%}.site #theme{margin-left:auto}}
.site .drop{border:2px dashed var(--dim);border-radius:6px;background:var(--panel);padding:1.1rem 1.25rem;display:grid;gap:.5rem}
.site .drop.over{border-color:var(--green);border-style:solid}
.site .drop label{font-size:16px;font-weight:600}
.site .drop input{font:inherit;max-width:100%}
.site .drop p{margin:0}.site #chosen{overflow-wrap:anywhere}
.site .actions{display:flex;gap:.6rem;align-items:center;flex-wrap:wrap}
.site button.main{background:var(--text);color:var(--bg);border-color:var(--text);font-weight:600}
.site button:disabled{opacity:.55;cursor:default}
.site a.button{color:inherit;text-decoration:none;background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.15rem .7rem}
.site a.button:hover{border-color:var(--dim)}
.site progress{width:14rem;max-width:100%;accent-color:var(--c1)}
.site #failure:empty,.site [hidden]{display:none}
.site #results{margin-top:.9rem}
.site #fixed ul{margin:.3rem 0;padding-left:1.2rem}
.site iframe{flex:1 0 75vh;width:100%;border:0;border-top:1px solid var(--line);background:var(--bg)}
`;

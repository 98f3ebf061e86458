/** @file A model whose every name tries to leave its place on a page. */
import { type GraphBuilder, model } from "../../../fixtures/builder.ts";

export const attacks = [
  `</script><script>globalThis.pwned=1</script>`,
  `<!--<script>`,
  `"><img src=x onerror="globalThis.pwned=1">`,
  `' onfocus='globalThis.pwned=1' autofocus='`,
  "`globalThis.pwned=1`",
  `</title><svg onload=globalThis.pwned=1>`,
  `</textarea></style><style>*{display:none}</style>`,
  `a\u2028b\u2029c\u202etxt\u0000\u001b[31m\u0085`,
  `&lt;b&gt;&amp;&#60;`,
  `javascript:globalThis.pwned=1`,
  `]]><![CDATA[`,
] as const;

/** Misaligned products; `named` makes each name of an attack. */
export function hostileModel(
  named: (attack: string, index: number) => string = (attack) => attack,
): Uint8Array {
  return model({ name: "hostile", opset: 17 }, (graph) => {
    const names = attacks.map(named);
    let h = graph.input(`in ${names[0]}`, [512, 1027]);
    for (const [index, name] of names.entries()) h = product(graph, h, name, index);
    graph.node(
      "Nobody",
      [h],
      {},
      { domain: names[2] ?? "", name: names[3] ?? "", outputs: [`out ${names[4]}`] },
    );
    graph.output(`out ${names[4]}`);
  });
}

function product(graph: GraphBuilder, h: string, name: string, index: number): string {
  const weight = graph.weight([1027, 1027], { name: `w${index} ${name}` });
  return graph.node("MatMul", [h, weight], {}, { name: `${name}${index}`, outputs: [`v${index} ${name}`] });
}

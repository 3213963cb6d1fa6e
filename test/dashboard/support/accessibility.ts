import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** Rules of WCAG 2.2 and best practices that the page breaks, with the elements. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(axe.source);
  const options = rules ? { runOnly: { type: "rule", values: rules } } : {};
  const { violations: found } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

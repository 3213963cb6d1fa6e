import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** Rules that depend on colours, which are all that a theme changes. They take most of the time of a check. */
const COLOUR_RULES: readonly string[] = ["color-contrast", "link-in-text-block"];

/** Returns the rules of WCAG 2.2 and best practices that the page breaks, with the elements. */
export async function violations(page: Page, rules: "all" | "colours" | "layout" = "all"): Promise<string[]> {
  await page.evaluate(axe.source);
  const options = {
    resultTypes: ["violations"],
    ...(rules === "colours" && { runOnly: { type: "rule", values: COLOUR_RULES } }),
    ...(rules === "layout" && {
      rules: Object.fromEntries(COLOUR_RULES.map((rule) => [rule, { enabled: false }])),
    }),
  };
  const { violations: found } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

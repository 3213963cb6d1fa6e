import type { ComponentChildren } from "preact";

/** Pairs of a name and a value. A value that is null or false is left out with its name. */
export function Facts({ facts }: { facts: readonly [name: string, value: ComponentChildren][] }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Figures at the top of a page, each with its name. */
export function Figures({ figures }: { figures: readonly [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name} class="figure">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

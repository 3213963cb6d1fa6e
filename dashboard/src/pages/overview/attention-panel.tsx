import type { Attention } from "../../../../src/dashboard/api/contract.ts";
import { Icon } from "../../components/icon.tsx";
import { Name } from "../../components/names.tsx";
import { Panel } from "../../components/panel.tsx";
import { Sentence } from "../../components/sentence.tsx";
import type { Tone } from "../../components/state-badge.tsx";
import { Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { formatNumber } from "../../text/number.ts";

const TONES: Record<Attention["kind"], Tone> = {
  failure: "failed",
  late: "late",
  paused: "paused",
  worker: "failed",
  queue: "late",
  job: "late",
};

/** The text of a problem; the name before it is not said twice. */
function withoutName({ name, text }: Attention): string {
  return text.startsWith(`${name} `) ? text.slice(name.length + 1) : text;
}

/** The problems of the moment, the worst first; each is a link to the page that explains it. */
export function AttentionPanel({ items }: { items: readonly Attention[] }) {
  return (
    <Panel title="Needs attention" aside={items.length > 0 && formatNumber(items.length)} flush>
      {items.length === 0 ? (
        <p class="all-well">
          <Icon name="completed" /> Nothing needs attention.
        </p>
      ) : (
        <ul class="lines">
          {items.map((item) => (
            <li key={`${item.kind} ${item.name} ${item.link}`}>
              <Link to={item.link} class="line-link">
                <span class={`line-icon state-${TONES[item.kind]}`}>
                  <Icon name={TONES[item.kind]} />
                </span>
                <span class="line-text">
                  <strong>
                    <Name>{item.name}</Name>
                  </strong>{" "}
                  <Sentence>{withoutName(item)}</Sentence>
                </span>
                {item.since !== null && (
                  <span class="line-end">
                    <Time at={item.since} />
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

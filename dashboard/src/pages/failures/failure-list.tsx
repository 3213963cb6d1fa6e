import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { FailureGroup } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { followBulk } from "../../bulk/bulk.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Icon } from "../../components/icon.tsx";
import { JobLink, Name } from "../../components/names.tsx";
import { PauseDialog, PauseNote } from "../../components/pause-dialog.tsx";
import { perform } from "../../components/perform.ts";
import { Time } from "../../components/time.tsx";
import { quoteForShell } from "../../query/command.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { may } from "../../state/meta.ts";
import { formatCount, plural } from "../../text/number.ts";
import { shownPlace } from "../../text/shown.ts";

/** More runs than this are retried only after the number was typed. */
const TYPED_ABOVE = 100;
/** Jobs that a group names. */
const NAMED = 4;

interface FailureListProps {
  groups: readonly FailureGroup[];
  refresh(): void;
  /** Fingerprint of the group to show first and mark. */
  marked?: string | null;
}

/** Groups of runs that failed in the same way. */
export function FailureList({ groups, refresh, marked = null }: FailureListProps) {
  return (
    <ul class="failures">
      {groups.map((group) => (
        <Group
          key={group.fingerprint}
          group={group}
          refresh={refresh}
          marked={group.fingerprint === marked}
        />
      ))}
    </ul>
  );
}

function Group({ group, refresh, marked }: { group: FailureGroup; refresh(): void; marked: boolean }) {
  const asked = useSignal<"retry" | "mute" | null>(null);
  const { mute } = group;
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (marked) element.current?.scrollIntoView({ block: "center" });
  }, [marked]);
  const list = pathTo("/runs", {}, { q: group.q });
  const retry = async () => {
    followBulk(await request("POST /runs/bulk", { body: { action: "retry", q: group.q } }));
    refresh();
  };
  const params = { fingerprint: group.fingerprint };
  const command = `mute ${quoteForShell(group.fingerprint)}`;
  const unmute = () =>
    perform(
      request("POST /failures/:fingerprint/unmute", { params, body: {} }),
      refresh,
      `punctual un${command}`,
    );
  const close = () => {
    asked.value = null;
  };
  const count = formatCount(group.count);
  const classes = ["failure-group", marked && "failure-group-marked", mute && "failure-group-muted"];
  return (
    <li ref={element} class={classes.filter(Boolean).join(" ")}>
      <div class="failure-group-text">
        <p class="failure-message">
          <Link to={pathTo("/runs/:id", { id: group.sample })}>
            <strong>
              <Name>{group.error.name}</Name>
            </strong>
            {": "}
            <Name>{group.error.message}</Name>
          </Link>
        </p>
        <p class="failure-group-facts">
          {group.place !== null && <code>{shownPlace(group.place)}</code>}
          <span>
            {group.jobs.slice(0, NAMED).map((job, index) => (
              <span key={job}>
                {index > 0 && ", "}
                <JobLink name={job} />
              </span>
            ))}
            {group.jobs.length > NAMED && ` and ${plural(group.jobs.length - NAMED, "more job")}`}
          </span>
        </p>
        {mute && (
          <p class="failure-group-facts">
            <Icon name="muted" size={13} />
            <PauseNote pause={mute} word="muted" />
          </p>
        )}
      </div>
      <dl class="failure-group-figures">
        <div>
          <dt>Runs</dt>
          <dd>
            <Link class="hot" to={list}>
              {count}
            </Link>
          </dd>
        </div>
        <div>
          <dt>First</dt>
          <dd>
            <Time at={group.first} />
          </dd>
        </div>
        <div>
          <dt>Last</dt>
          <dd>
            <Time at={group.last} />
          </dd>
        </div>
        <div class="failure-group-spark">
          <dt>24 h</dt>
          <dd>
            <Sparkline
              points={group.spark.map((failed) => ({ completed: 0, failed }))}
              width={96}
              label="Failures of the last 24 hours"
            />
          </dd>
        </div>
      </dl>
      <div class="failure-group-actions">
        <Link class="button button-small" to={list}>
          Open runs
        </Link>
        {may("operator") && (
          <Button
            small
            icon="retrying"
            onClick={() => {
              asked.value = "retry";
            }}
          >
            Retry all…
          </Button>
        )}
        {may("operator") && group.fingerprint !== "" && (
          <Button
            small
            icon="muted"
            onClick={() => {
              if (mute) unmute();
              else asked.value = "mute";
            }}
          >
            {mute ? "Unmute" : "Mute…"}
          </Button>
        )}
      </div>
      {asked.value === "mute" && (
        <PauseDialog
          verb="Mute"
          what={`"${group.error.name}"`}
          command={`punctual ${command}`}
          timed
          pause={(body) => request("POST /failures/:fingerprint/mute", { params, body })}
          onDone={refresh}
          onClose={close}
        >
          Its jobs no longer count as failing because of this error. The runs still fail, and the group stays
          in this list.
        </PauseDialog>
      )}
      {asked.value === "retry" && (
        <ConfirmDialog
          title={`Retry ${count} ${group.count.value === 1 ? "run" : "runs"}?`}
          confirm={`Retry ${count}`}
          command={group.command}
          typed={group.count.value > TYPED_ABOVE ? String(group.count.value) : undefined}
          act={retry}
          onClose={close}
        >
          <p>
            Each failed run of this group is retried under its own number, newest first. Runs that have
            changed their state meanwhile are skipped and counted.
          </p>
        </ConfirmDialog>
      )}
    </li>
  );
}

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../components/copy-button.tsx";
import { formatNumber, plural } from "../text/number.ts";
import { visibleText } from "../text/visible.ts";
import { formatJson, isContainer, memberPath, previewOf, scalarText } from "./format.ts";
import { type JsonContainer, type JsonNode, parseJson } from "./parse.ts";

/** Members that are rendered at first, and that "show more" adds: more would freeze the page. */
const MEMBERS = 100;
const MORE_MEMBERS = 500;
/** Characters of a string that are shown before "show all". */
const STRING_LIMIT = 400;
/** The members of a root with few members are open at first, unless they have many themselves. */
const FEW_MEMBERS = 12;
const MANY_MEMBERS = 40;

/** JSON text as a tree whose closed branches are not rendered. Numbers and the order of keys are exact. */
export function JsonTree({ text }: { text: string }) {
  const { node, fault } = useMemo(() => parseJson(text), [text]);
  if (node === null) return <pre class="json-raw">{visibleText(text)}</pre>;
  return (
    <ul class="json" dir="ltr">
      <Member node={node} path="" label={null} depth={0} siblings={1} />
      {fault && <li class="muted">… the text was cut here</li>}
    </ul>
  );
}

interface MemberProps {
  node: JsonNode;
  path: string;
  depth: number;
  /** Number of members of its container. */
  siblings: number;
  /** The key or index of the member in its container; null for the root. */
  label: JSX.Element | null;
}

function Member(props: MemberProps) {
  const { node, path, label } = props;
  if (isContainer(node) && node.values.length > 0) return <Branch {...props} node={node} />;
  return (
    <li class="json-line">
      {label}
      {isContainer(node) ? <span>{node.kind === "object" ? "{}" : "[]"}</span> : <Scalar node={node} />}
      <CopyMember node={node} path={path} />
    </li>
  );
}

function Branch({ node, path, depth, siblings, label }: MemberProps & { node: JsonContainer }) {
  const small = siblings <= FEW_MEMBERS && node.values.length <= MANY_MEMBERS;
  const [open, setOpen] = useState(depth === 0 || (depth === 1 && small));
  const [shown, setShown] = useState(MEMBERS);
  const preview = useMemo(() => previewOf(node, 80), [node]);
  const rest = node.values.length - shown;
  return (
    <li>
      <div class="json-line">
        <button type="button" class="json-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span class="json-arrow" aria-hidden="true">
            {open ? "▾" : "▸"}
          </span>
          {label}
          {open ? (
            <span class="muted">{node.kind === "object" ? "{" : "["}</span>
          ) : (
            <bdi class="json-preview">{visibleText(preview)}</bdi>
          )}
          <span class="json-size">{sizeOf(node)}</span>
        </button>
        <CopyMember node={node} path={path} />
      </div>
      {open && (
        <ul class="json-members">
          {node.values.slice(0, shown).map((value, index) => (
            <Member
              key={index}
              node={value}
              path={memberPath(path, node, index)}
              depth={depth + 1}
              siblings={node.values.length}
              label={<Label parent={node} index={index} />}
            />
          ))}
          {rest > 0 && (
            <li>
              <button type="button" class="link" onClick={() => setShown(shown + MORE_MEMBERS)}>
                Show {formatNumber(Math.min(rest, MORE_MEMBERS))} more of {formatNumber(rest)}
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

function Label({ parent, index }: { parent: JsonContainer; index: number }) {
  if (parent.kind === "array") return <span class="json-index">{index}: </span>;
  return <bdi class="json-key">{visibleText(parent.keys[index]!)}: </bdi>;
}

function Scalar({ node }: { node: Exclude<JsonNode, JsonContainer> }) {
  const [whole, setWhole] = useState(false);
  if (node.kind !== "string") return <span class={`json-${node.kind}`}>{scalarText(node)}</span>;
  const cut = !whole && node.value.length > STRING_LIMIT;
  const text = cut ? node.value.slice(0, STRING_LIMIT) : node.value;
  return (
    <>
      <bdi class="json-string">
        "{visibleText(text)}
        {cut ? "…" : '"'}
      </bdi>
      {cut && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          show all {formatNumber(node.value.length)} characters
        </button>
      )}
    </>
  );
}

function CopyMember({ node, path }: { node: JsonNode; path: string }) {
  return (
    <span class="json-copy">
      <CopyButton label="Copy value" text={() => (node.kind === "string" ? node.value : formatJson(node))}>
        value
      </CopyButton>
      {path !== "" && (
        <CopyButton label={`Copy path ${path}`} text={path}>
          path
        </CopyButton>
      )}
    </span>
  );
}

function sizeOf(node: JsonContainer): string {
  return plural(node.values.length, node.kind === "array" ? "item" : "key");
}

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useKeys } from "../keyboard/keys.ts";
import { Icon } from "./icon.tsx";

export interface Column<Row> {
  /** Unique; also the last part of the class `col-<key>`, with which CSS gives the column its width. */
  key: string;
  title: string;
  cell(row: Row): ComponentChildren;
  /** Numbers stand at the end of their cell. */
  align?: "end";
  /**
   * Position of the cell in the card that a row becomes below 700 px: on the first line, at the end of the first
   * line, on the second line, or nowhere. Default: `detail`.
   */
  card?: "lead" | "end" | "detail" | "hide";
  /** For a second line: text before the value, such as "waited". */
  cardLabel?: string;
  /** Whether only screen readers get the title. */
  hideTitle?: boolean;
  sort?: SortState;
}

export interface SortState {
  direction: "ascending" | "descending" | "none";
  toggle(): void;
}

export interface Selection<Row> {
  has(row: Row): boolean;
  /** `range`: also the rows between the last toggled one and this one. */
  toggle(row: Row, range: boolean): void;
  toggleAll(): void;
  state: "none" | "some" | "all";
  /** Accessible name of a row's checkbox, such as "Select run 42". */
  label(row: Row): string;
}

interface DataTableProps<Row> {
  /** Accessible name of the table. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string | number;
  selection?: Selection<Row> | undefined;
  /** A second line below a row, such as why a schedule is late. */
  below?(row: Row): ComponentChildren;
  rowClass?(row: Row): string | undefined;
  /** Whether the keys j and k move between rows, and x selects; one table of a page. */
  keys?: boolean;
  /** Keys that act on the focused row. */
  rowKeys?: Record<string, (row: Row) => unknown>;
}

/**
 * A list of rows. Rows are kept by their key, so that focus and scroll survive updates. The keys j and k focus the
 * first link of the next or previous row; Enter then follows it.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, rowKey, selection, below, rowClass } = props;
  const table = useRef<HTMLTableElement>(null);
  useTableKeys(props, table);
  return (
    <div class="table-frame">
      <table class="table" ref={table}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {selection && (
              <th scope="col" class="col-select">
                <Checkbox
                  label="Select all rows on this page"
                  checked={selection.state === "all"}
                  mixed={selection.state === "some"}
                  onToggle={() => selection.toggleAll()}
                />
              </th>
            )}
            {columns.map((column) => (
              <HeadCell key={column.key} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = rowKey(row);
            const extra = below?.(row);
            const classes = [rowClass?.(row), selection?.has(row) && "row-selected", extra && "row-open"];
            return [
              <tr key={key} data-key={key} class={classes.filter(Boolean).join(" ")}>
                {selection && (
                  <td class="col-select">
                    <Checkbox
                      label={selection.label(row)}
                      checked={selection.has(row)}
                      onToggle={(range) => selection.toggle(row, range)}
                    />
                  </td>
                )}
                {columns.map((column) => (
                  <Cell key={column.key} column={column} row={row} />
                ))}
              </tr>,
              extra && (
                <tr key={`${key} below`} class="row-below">
                  <td colSpan={columns.length + (selection ? 1 : 0)}>{extra}</td>
                </tr>
              ),
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

function classesOf<Row>({ key, align, card = "detail" }: Column<Row>): string {
  return `col-${key} card-${card}${align === "end" ? " cell-end" : ""}`;
}

function HeadCell<Row>({ column }: { column: Column<Row> }) {
  const { title, sort, hideTitle } = column;
  const content = hideTitle ? <span class="visually-hidden">{title}</span> : title;
  if (!sort)
    return (
      <th scope="col" class={classesOf(column)}>
        {content}
      </th>
    );
  return (
    <th scope="col" class={classesOf(column)} aria-sort={sort.direction}>
      <button type="button" class="sort" onClick={sort.toggle}>
        {content}
        {sort.direction !== "none" && (
          <Icon name={sort.direction === "ascending" ? "up" : "down"} size={11} />
        )}
      </button>
    </th>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  return (
    <td class={classesOf(column)} data-label={column.cardLabel}>
      {column.cell(row)}
    </td>
  );
}

interface CheckboxProps {
  label: string;
  checked: boolean;
  mixed?: boolean;
  /** `range`: whether the shift key was held. */
  onToggle(range: boolean): void;
}

export function Checkbox({ label, checked, mixed = false, onToggle }: CheckboxProps) {
  return (
    <label class="checkbox">
      <input
        type="checkbox"
        aria-label={label}
        checked={checked}
        ref={(element) => {
          if (element) element.indeterminate = mixed;
        }}
        onClick={(event) => onToggle(event.shiftKey)}
      />
    </label>
  );
}

/** The row that has the focus. */
function focusedRow(table: HTMLTableElement | null): HTMLElement | null {
  const row = document.activeElement?.closest<HTMLElement>("tr[data-key]");
  return row && table?.contains(row) ? row : null;
}

function useTableKeys<Row>(
  { rows, rowKey, selection, keys = false, rowKeys = {} }: DataTableProps<Row>,
  table: { current: HTMLTableElement | null },
): void {
  const move = (step: 1 | -1) => {
    const all = [...(table.current?.querySelectorAll<HTMLElement>("tr[data-key]") ?? [])];
    const at = all.indexOf(focusedRow(table.current)!);
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step];
    next?.querySelector<HTMLElement>("a, button, input")?.focus();
    next?.querySelector<HTMLElement>("a")?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const onRow = (act: (row: Row) => unknown) => {
    const key = focusedRow(table.current)?.dataset.key;
    const row = rows.find((candidate) => String(rowKey(candidate)) === key);
    return row === undefined ? false : act(row);
  };
  const actions = Object.entries(rowKeys).map(([key, act]) => [key, () => onRow(act)] as const);
  useKeys(
    keys
      ? {
          j: () => move(1),
          k: () => move(-1),
          x: () => (selection ? onRow((row) => selection.toggle(row, false)) : false),
          X: () => (selection ? onRow((row) => selection.toggle(row, true)) : false),
          ...Object.fromEntries(actions),
        }
      : {},
  );
}

const PATHS = {
  scheduled: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.8V8l2.2 1.6",
  ready: "M8 2.4a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 2.4",
  running: "M8 2.4a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 2.4",
  retrying: "M13.2 6.2A5.6 5.6 0 0 0 3 5.4M2.8 9.8A5.6 5.6 0 0 0 13 10.6M13.4 2.6v3.6H9.8M2.6 13.4V9.8h3.6",
  completed: "M3 8.6l3.2 3.2L13 4.6",
  failed: "M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4",
  cancelled: "M8 2.4a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 2.4M4.2 11.8l7.6-7.6",
  skipped: "M3 3.6L8.4 8 3 12.4zM12.4 3.4v9.2",
  late: "M8 2.2v7.2M8 12.6v1",
  paused: "M5.4 3v10M10.6 3v10",
  play: "M4.6 2.8L12.8 8l-8.2 5.2z",
  search: "M7 2.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2M10.4 10.4l3.4 3.4",
  copy: "M6 6h7.4v7.4H6zM3.4 10H2.6V2.6H10v.8",
  download: "M8 2.4v7.4M4.8 6.8L8 10l3.2-3.2M2.8 13.2h10.4",
  close: "M4 4l8 8M12 4l-8 8",
  left: "M9.8 3.4L5.2 8l4.6 4.6",
  right: "M6.2 3.4L10.8 8l-4.6 4.6",
  down: "M3.6 6l4.4 4.4L12.4 6",
  up: "M3.6 10L8 5.6l4.4 4.4",
  system: "M2 3h12v8H2zM5.6 13.6h4.8M8 11v2.6",
  light:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  dark: "M13.4 9.6A5.8 5.8 0 0 1 6.4 2.6a5.8 5.8 0 1 0 7 7z",
  help: "M5.6 5.8a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.7M8 12.4v.4",
  info: "M8 2.4a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 2.4M8 7.4v3.4M8 5.2v.02",
  settings: "M2 4.6h6.6M12.2 4.6H14M2 11.4h1.8M7.4 11.4H14M10.4 2.8v3.6M5.6 9.6v3.6",
  more: "M3.2 8h.02M8 8h.02M12.8 8h.02",
  link: "M6.6 9.4l2.8-2.8M7.2 4.8l1.4-1.4a2.8 2.8 0 0 1 4 4l-1.4 1.4M8.8 11.2l-1.4 1.4a2.8 2.8 0 0 1-4-4l1.4-1.4",
  trash: "M2.8 4.4h10.4M6.4 4.2V2.6h3.2v1.6M4.2 4.6l.6 8.8h6.4l.6-8.8",
  muted: "M2.6 6.2v3.6h2.6L8.6 13V3L5.2 6.2zM11 6.4l3.2 3.2M14.2 6.4L11 9.6",
  star: "M8 1.9l1.9 3.9 4.2.6-3 3 .7 4.3L8 11.7l-3.8 2 .7-4.3-3-3 4.2-.6z",
  worker: "M2.4 3h11.2v4.4H2.4zM2.4 8.6h11.2V13H2.4zM4.8 5.2h.02M4.8 10.8h.02",
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon in the colour of the text. The text beside it, or the label of its button, names it. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" focusable="false">
      {name === "running" && <path d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor" stroke="none" />}
      <path d={PATHS[name]} />
    </svg>
  );
}

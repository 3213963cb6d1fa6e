/** Every shortcut, for the help. Pages implement theirs with `useKeys`. */
export const SHORTCUTS: readonly { title: string; keys: readonly [keys: string, text: string][] }[] = [
  {
    title: "Go to",
    keys: [
      ["g o", "Overview"],
      ["g r", "Runs"],
      ["g b", "Batches"],
      ["g s", "Schedules"],
      ["g j", "Jobs"],
      ["g q", "Queues"],
      ["g f", "Failures"],
      ["g w", "Workers"],
      ["⌘K / Ctrl K", "Search pages, jobs, runs and batches"],
    ],
  },
  {
    title: "In lists",
    keys: [
      ["/", "Search or filter"],
      ["j k", "Next, previous row"],
      ["Enter", "Open the row"],
      ["x", "Select the row"],
      ["Shift x", "Select up to the row"],
      ["r", "Retry"],
      ["c", "Cancel"],
      ["n", "Show new rows"],
    ],
  },
  {
    title: "Everywhere",
    keys: [
      ["p", "Pause or resume live updates"],
      ["t", "Change the theme"],
      ["z", "Change the time zone"],
      ["?", "This help"],
    ],
  },
];

// A child process without jobs. It begins only the first of the runs that one message assigns, and drops the others, as
// a child does whose only slot stays in use.
const send = (...punctual) => process.send({ punctual });

process.on("message", ({ punctual }) => {
  const tickets = [];
  for (const message of punctual) {
    if (message.type === "describe") send({ type: "described", description: {}, digest: 1 });
    if (message.type === "run") tickets.push(message.ticket);
    if (message.type === "exit") process.disconnect();
  }
  if (tickets.length === 0) return;
  const [first, ...others] = tickets;
  const dropped = { type: "done", result: { outcome: "released" }, duration: 0, returned: true };
  send(
    { type: "began", upTo: first, read: tickets.at(-1) },
    ...others.map((ticket) => ({ ...dropped, ticket })),
  );
});

send({ type: "ready", digest: 1 });

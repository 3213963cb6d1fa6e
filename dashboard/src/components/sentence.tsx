import { visibleText } from "../text/visible.ts";
import { Time } from "./time.tsx";

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)/;

/** A sentence of the server. The times in it are shown in the zone that the reader chose. */
export function Sentence({ children }: { children: string }) {
  // The pieces at odd places are what the pattern captured.
  return (
    <bdi>
      {children
        .split(INSTANT)
        .map((piece, index) =>
          index % 2 === 1 ? <Time key={index} at={piece} as="short" /> : visibleText(piece),
        )}
    </bdi>
  );
}

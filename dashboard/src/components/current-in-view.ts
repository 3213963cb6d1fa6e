import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * Scrolls a row of links sideways, so that the current one can be seen on a narrow screen. `counted`: whether the links
 * have their numbers, which make them wider.
 */
export function useCurrentInView<Place extends HTMLElement>(
  current: boolean,
  counted: boolean,
): RefObject<Place | null> {
  const place = useRef<Place>(null);
  useEffect(() => {
    const link = place.current?.closest("a");
    const row = link?.parentElement;
    if (!current || !link || !row) return;
    const { left, right } = link.getBoundingClientRect();
    const frame = row.getBoundingClientRect();
    // A link is not in view where the row fades out.
    const fade = Number.parseFloat(getComputedStyle(row).paddingRight);
    if (left < frame.left || right > frame.right - fade)
      row.scrollLeft += (left + right - frame.left - frame.right) / 2;
  }, [current, counted]);
  return place;
}

import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Measures the width of an element in pixels, so that a chart draws text undistorted at every width. */
export function useWidth<Type extends Element>(): { ref: RefObject<Type | null>; width: number } {
  const ref = useRef<Type>(null);
  const width = useSignal(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.floor(entry!.contentRect.width);
    });
    width.value = Math.floor(element.getBoundingClientRect().width);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, width: width.value };
}

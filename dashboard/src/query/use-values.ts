import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { request } from "../api/client.ts";
import { FIELDS } from "./completion.ts";

/** Values of a field that the server knows, for fields whose values are not fixed. Without them a user types them. */
export function useValues(field: string | null, prefix: string): readonly string[] {
  const values = useSignal<{ field: string | null; found: readonly string[] }>({ field: null, found: [] });
  const look = FIELDS.some(({ name, look: looked }) => name === field && looked);
  useEffect(() => {
    if (field === null || !look) return;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const response = await request("GET /values", { query: { field, prefix } }, abort.signal);
        values.value = { field, found: response.values };
      } catch {
        // The values of before stay.
      }
    }, 80);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [field, look, prefix]);
  return values.value.field === field ? values.value.found : [];
}

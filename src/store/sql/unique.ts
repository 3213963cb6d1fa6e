/** What holds a unique key. After the start of a run whose key goes until then, only its window still does. */
export const WINDOW = 0;
export const UNTIL_STARTED = 1;
export const UNTIL_FINISHED = 2;

/** What a claim makes of the key, in this order: MySQL reads what it has just set. */
export function keyAtStart(now: string): Record<"unique_key" | "unique_scope", string> {
  return {
    unique_key: `case when unique_scope = ${UNTIL_STARTED} and coalesce(unique_until, 0) <= ${now} then null else unique_key end`,
    unique_scope: `case when unique_scope = ${UNTIL_STARTED} then ${WINDOW} else unique_scope end`,
  };
}

import { type RateInfo, rateSubject, rateText } from "../../../status/rates.ts";
import type { Route } from "../../server/route.ts";
import type { RateView } from "../contract.ts";
import { defineRead } from "../define-route.ts";
import { oneOfOrNone, text } from "../request-values.ts";
import type { Services } from "../services.ts";
import { isoOrNull } from "../views/times.ts";

const MOST_RATES = 200;

/** Keys of one job that the instance lists at most. */
const MOST_KEYS = 100;

export function ratesRoute(services: Services): Route {
  return defineRead(
    services,
    "GET /rates",
    { job: text, queue: text, kind: oneOfOrNone(["job", "key", "queue", "limit"]) },
    async ({ query }) => {
      const name = query.job === undefined ? undefined : await limitOf(services, query.job);
      const rates = await services.reports.rates({ ...query, name, limit: MOST_RATES });
      return { items: rates.map(toRateView), capped: isCapped(rates) };
    },
  );
}

/** Returns the named limit of a job. */
async function limitOf(services: Services, job: string): Promise<string | undefined> {
  const { jobs } = await services.status();
  return jobs.find(({ name }) => name === job)?.rates?.under?.limit;
}

function isCapped(rates: RateInfo[]): boolean {
  const keys = Map.groupBy(
    rates.filter(({ key }) => key !== null),
    ({ job }) => job,
  );
  return rates.length >= MOST_RATES || [...keys.values()].some(({ length }) => length >= MOST_KEYS);
}

function toRateView(rate: RateInfo): RateView {
  const { job, key, queue, limit, per, burst, spent, opensAt, slowedUntil } = rate;
  return {
    job,
    key,
    queue,
    subject: rateSubject(rate),
    words: rateText(rate),
    limit,
    per,
    burst,
    spent,
    opensAt: isoOrNull(opensAt),
    slowedUntil: isoOrNull(slowedUntil),
  };
}

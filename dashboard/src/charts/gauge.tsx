interface GaugeProps {
  used: number;
  /** 0: no limit. */
  total: number;
  /** Accessible name, such as "Slots in use". */
  label: string;
}

/** How much of something limited is in use. */
export function Gauge({ used, total, label }: GaugeProps) {
  if (total === 0) return null;
  return (
    <meter
      class={used >= total ? "gauge gauge-full" : "gauge"}
      min={0}
      max={total}
      value={used}
      aria-label={label}
    />
  );
}

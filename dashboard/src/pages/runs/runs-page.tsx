import { Page } from "../../components/page.tsx";

export function RunsPage() {
  return <Page title="Runs">…</Page>;
}

import { Page } from "../components/page.tsx";
import { Empty } from "../components/problem.tsx";
import { Link } from "../router/link.tsx";
import { path } from "../router/router.ts";

export function NotFoundPage() {
  return (
    <Page title="No such page">
      <Empty
        title="There is no page at this address"
        actions={
          <Link class="button" to="/">
            Overview
          </Link>
        }
      >
        <code>{path.value}</code>
      </Empty>
    </Page>
  );
}

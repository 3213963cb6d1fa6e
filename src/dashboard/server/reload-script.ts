/**
 * Stands in for a script of another version: during a deployment one process serves the page, and another one is asked
 * for its script. It loads the page again, a few times, until both come from the same version.
 */
export const RELOAD_SCRIPT: string = `
const key = "punctual.reloads";
const reloads = Number(sessionStorage.getItem(key)) || 0;
if (reloads < 5) {
  sessionStorage.setItem(key, reloads + 1);
  location.reload();
} else {
  sessionStorage.removeItem(key);
  document.body.textContent = "This page and its server are of different versions. Reload it once the deployment has ended.";
}
`;

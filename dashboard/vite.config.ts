import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "vite";

/**
 * Builds static files with hashed names. URLs in the HTML are relative (`./assets/…`); the server replaces them with
 * its mount path. `DASHBOARD_API=http://127.0.0.1:4480` lets the development server forward API requests there.
 */
const config: UserConfig = defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  // Calls of h() are shorter than those of the automatic runtime: 0.8 KiB of the budget. No file uses these names.
  oxc: {
    jsx: { runtime: "classic", pragma: "jsxElement", pragmaFrag: "JsxFragment" },
    jsxInject: 'import { Fragment as JsxFragment, h as jsxElement } from "preact"',
  },
  build: {
    outDir: fileURLToPath(new URL("../dist/dashboard/page", import.meta.url)),
    emptyOutDir: true,
    // Browsers that know light-dark() and <dialog>; older targets would double the CSS.
    target: ["chrome123", "firefox128", "safari17.5"],
    // Inlined images would be data URLs in CSS, and the polyfill for preloads is not needed by these browsers.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: process.env.DASHBOARD_API ? { "/api": process.env.DASHBOARD_API } : {} },
});

export default config;

import "../node-version.ts";

export { mount } from "./mount.ts";

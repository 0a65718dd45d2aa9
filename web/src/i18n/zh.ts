// Simplified Chinese, a file an area of the page.
import type { Table } from "./i18n";

export const zh: Table = Object.assign({}, ...Object.values(import.meta.glob<Table>("./zh/*.ts", { eager: true, import: "default" })));

// Tables that fill a page: each that shows one imports this.
import { adoptStyle } from "../lib/adopt";
import table from "./table.css?inline";

adoptStyle(table);

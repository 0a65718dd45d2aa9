// Tables that fill a page: each that shows one imports this.
import { adoptStyle } from "../lib/jobs/adopt";
import table from "./table.css?inline";

adoptStyle(table);

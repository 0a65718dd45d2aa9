// See walk.mjs.
import { walk } from "./walk.mjs";

walk("dark", "zh");

// See walk.mjs.
import { walk } from "./walk.mjs";

walk("light", "phone");

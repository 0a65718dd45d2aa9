// Charts and what stands around them: every page that draws any imports this.
import { adoptStyle } from "../lib/jobs/adopt";
import job from "./job.css?inline";
import plot from "./plot.css?inline";

adoptStyle(plot);
adoptStyle(job);

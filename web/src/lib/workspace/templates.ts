// Workspaces to begin with. What a job does not have of them leaves it out of the panel.
import { say } from "../../i18n/i18n";
import type { Workspace } from "./document";

export interface Template {
  key: string;
  title: string;
  about: string;
  workspace: Workspace;
}

const line = (title: string, expressions: string[], more: object = {}) => ({ kind: "line" as const, title, expressions, width: 6, height: 2, ...more });
const figure = (title: string, expression: string, fold: "min" | "max" | "mean" | "sum" | "count", width = 3) => ({ kind: "number" as const, title, expression, fold, width, height: 1 });

export const TEMPLATES: readonly Template[] = [
  {
    key: "pretraining",
    title: say("Pre-training"),
    about: say("Loss raw and smoothed, gradient norm, learning rate, throughput by node, evaluation"),
    workspace: {
      version: 1,
      title: "Pre-training",
      query: "status:inprogress",
      panels: [
        line("loss", ["loss"], { width: 8, height: 3 }),
        figure("best loss", "loss.best", "min", 4),
        figure("tokens a second, all jobs", "throughput.last", "sum", 4),
        figure("lowest goodput, percent", "goodput", "min", 4),
        line("loss, smoothed", ["ema(loss, 0.99)"], { width: 4 }),
        line("gradient norm", ["grad_norm"], { width: 4, scale: "log" }),
        line("learning rate", ["learning_rate"], { width: 4 }),
        line("throughput a node", ["throughput / nodes"]),
        line("evaluation", ["eval_loss"]),
        { kind: "table", title: "jobs", columns: ["name", "status", "loss.last", "loss.best", "throughput.last", "mfu.last", "nodes", "cost"], sort: "-created", width: 12, height: 2 },
      ],
    },
  },
  {
    key: "finetuning",
    title: say("Fine-tuning with evaluations"),
    about: say("Training beside evaluation, final values by learning rate, the best runs as a table"),
    workspace: {
      version: 1,
      title: "Fine-tuning with evaluations",
      query: "eval_loss exists",
      panels: [
        line("training loss", ["ema(loss, 0.9)"]),
        line("evaluation loss", ["eval_loss"]),
        line("evaluation over training", ["eval_loss / ema(loss, 0.9)"]),
        { kind: "scatter", title: "evaluation by learning rate", x: "hp.lr", y: "eval_loss.best", color: "hp.batch_size", xscale: "log", width: 6, height: 2 },
        { kind: "table", title: "the best first", columns: ["name", "eval_loss.best", "eval_loss.best_step", "loss.final", "hp.lr", "hp.batch_size", "cost"], sort: "eval_loss.best", width: 12, height: 2 },
      ],
    },
  },
  {
    key: "rl",
    title: say("Reinforcement learning"),
    about: say("Reward and its best so far, KL, entropy, length of responses, clipping, time of rollouts"),
    workspace: {
      version: 1,
      title: "Reinforcement learning",
      query: "reward exists",
      panels: [
        line("reward", ["reward", "cummax(ema(reward, 0.9))"], { width: 8, height: 3 }),
        figure("best reward", "reward.max", "max", 4),
        figure("largest KL", "kl.last", "max", 4),
        figure("least entropy", "entropy.last", "min", 4),
        line("KL", ["kl"], { width: 4, scale: "log" }),
        line("entropy", ["entropy"], { width: 4 }),
        line("length of responses", ["response_length"], { width: 4 }),
        line("clipped", ["clip_fraction"], { width: 4 }),
        line("time of a rollout of a step", ["rollout_time / step_time"]),
        { kind: "scatter", title: "reward by KL", x: "kl.last", y: "reward.last", color: "hp.algorithm", width: 6, height: 2 },
      ],
    },
  },
  {
    key: "night",
    title: say("Fleet night watch"),
    about: say("All running jobs by the clock, the last twelve hours: loss, speed, gradient norm, and who is silent or has an incident"),
    workspace: {
      version: 1,
      title: "Fleet night watch",
      query: "status:inprogress",
      x: "time",
      last_hours: 12,
      panels: [
        figure("running", "lines", "count"),
        figure("silent for, seconds", "silent", "max"),
        figure("nodes at work", "nodes", "sum"),
        figure("worst goodput, percent", "goodput", "min"),
        line("loss", ["loss"]),
        line("throughput, of its own best", ["throughput / cummax(throughput)"]),
        line("gradient norm", ["grad_norm"], { scale: "log" }),
        line("time of a step", ["step_time"]),
        { kind: "table", title: "with an open incident", query: "status:inprogress incident:open", columns: ["name", "incidents", "loss.last", "step", "age"], sort: "-modified", width: 6, height: 2 },
        { kind: "table", title: "silent", query: "status:inprogress silent>10m", columns: ["name", "silent", "step", "nodes", "age"], sort: "-silent", width: 6, height: 2 },
      ],
    },
  },
];

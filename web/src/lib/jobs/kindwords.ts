// Made by deploy/incident-kinds out of server/model/incident_kinds.json: change that.
import { say } from "../../i18n/i18n";

export const SENTENCES: Readonly<Record<string, string>> = {
  loss_spike: say("{metric} jumped to {value} at step {step}; {expected} was usual."),
  divergence: say("{metric} runs away: {value} at step {step}; {expected} was usual."),
  non_finite: say("{metric} became {value} at step {step}."),
  loss_drop: say("{metric} fell to {value} at step {step}; {expected} was the best level before."),
  plateau: say("{metric} does not fall any more: {value} at step {step}."),
  entropy_collapse: say("{metric} fell to {value} by step {step}; {expected} was usual. The policy hardly varies any more."),
  reward_collapse: say("{metric} fell to {value} by step {step}; {expected} was usual."),
  grad_spike: say("{metric} rose to {value} at step {step}; {expected} was usual."),
  throughput_drop: say("{metric} is slower since step {step}: {value}, {expected} was usual."),
  throughput_change: say("{metric} is faster since step {step}: {value}, {expected} was usual."),
  straggler: say("{stream} is behind the others since step {step}: {value} against {expected}."),
  stall: say("The job has been silent for {silence}; {gap} is usual between two lines."),
  job_failed: say("The job failed."),
  deadline: say("The job will need longer than it may run."),
  checkpoint_overdue: say("The next checkpoint is overdue."),
  restart_differs: say("Behind the restart the training is not where it was: {value}, and before it was {expected}."),
  definition_silent: say("The definition of {metric} finds no value any more: {value} lines since the last one."),
  rule: say("The rule {rule} is true at step {step}: {value}."),
};

export const DEEDS: Readonly<Record<string, string>> = {
  loss_spike: say("Look at the batches of these steps and at the gradient norm just before. If the loss does not come back, go on from the last checkpoint and skip them, or lower the learning rate."),
  divergence: say("Stop the job and go on from the last checkpoint before the spike, with a lower learning rate or without the batches that came before it."),
  non_finite: say("Stop the job: what is trained from now on is lost. Go on from a checkpoint before this step; look for overflow (loss scale, fp16), a division by zero or a broken batch."),
  loss_drop: say("See whether the data repeat or leak: a loss that falls at once has seldom learnt something. The step of an epoch's end is no such fall."),
  plateau: say("Compare with an earlier run at this step. A schedule that has ended or a learning rate that is too low looks like this."),
  entropy_collapse: say("Compare the responses of these steps with earlier ones. Go on from a checkpoint before the fall with a lower learning rate, more entropy or KL in the objective, or a wider upper clip."),
  reward_collapse: say("See whether the task, the verifier or the environment changed at this step, and read some responses. If the policy itself broke, go on from the last checkpoint before it."),
  grad_spike: say("Watch the loss of the next steps. Gradient clipping, or skipping this batch, helps when it comes again."),
  throughput_drop: say("Compare the nodes: one slow machine slows all. Look at data loading, at checkpoints that are being written, and for clocks throttled by heat."),
  throughput_change: say("Nothing need be done."),
  straggler: say("Look at this machine's faults, temperature and network. If it stays behind, replace it and go on from the last checkpoint: all others wait for it."),
  stall: say("Look at the last lines of every node for a hang (NCCL, data loading, file system). If nothing comes, take stacks with py-spy, then restart from the last checkpoint."),
  job_failed: say("The reason and the last lines of the first stream that failed say why."),
  deadline: say("Raise MaxRuntimeInSeconds if you can, or be sure that the last checkpoint before the end can be gone on from."),
  checkpoint_overdue: say("See whether checkpoints still can be written: space, permissions, the shared file system. Until then more work is lost with every step if the job dies."),
  restart_differs: say("See which checkpoint was loaded, whether the optimizer, the schedule and the place in the data came with it, and go on from the right one before more steps are made on top. The goodput tab shows the figures."),
  definition_silent: say("Look at the line for what stands there now, and change the definition: without values nothing is noticed in this metric."),
};

// Made by deploy/incident-kinds out of server/model/incident_kinds.json: change that.
import { say } from "../../i18n/i18n";

export const TITLES: Readonly<Record<string, string>> = {
  loss_spike: say("loss spike"),
  divergence: say("divergence"),
  non_finite: say("non-finite value"),
  loss_drop: say("loss drop"),
  plateau: say("plateau"),
  entropy_collapse: say("entropy collapse"),
  reward_collapse: say("reward collapse"),
  grad_spike: say("gradient spike"),
  throughput_drop: say("throughput drop"),
  throughput_change: say("throughput change"),
  straggler: say("straggler"),
  stall: say("stall"),
  job_failed: say("job failed"),
  log_signature: say("known error in the log"),
  node_suspect: say("suspect machine"),
  deadline: say("deadline"),
  checkpoint_overdue: say("checkpoint overdue"),
  restart_differs: say("restart differs"),
  definition_silent: say("silent definition"),
  communication_exposed: say("communication exposed"),
  data_wait: say("data wait"),
  training_alert: say("alert of the training"),
  retention_due: say("retention due"),
  rule: say("rule"),
};

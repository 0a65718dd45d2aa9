// Made by deploy/incident-kinds out of server/model/incident_kinds.json: change that.
/** Those that detectors notice; a condition of one's own has a kind of its own. */
export const KINDS = [
  "loss_spike",
  "divergence",
  "non_finite",
  "loss_drop",
  "plateau",
  "entropy_collapse",
  "reward_collapse",
  "grad_spike",
  "throughput_drop",
  "throughput_change",
  "straggler",
  "stall",
  "job_failed",
  "log_signature",
  "node_suspect",
  "deadline",
  "checkpoint_overdue",
  "restart_differs",
  "definition_silent",
  "training_alert",
] as const;

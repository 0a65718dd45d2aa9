import { t } from "../../../i18n/i18n";

/** What the time of a bucket went to. */
export function bucketTitle(name: string): string {
  switch (name) {
    case "capacity":
      return t("waiting for capacity");
    case "unhealthy_replaced":
      return t("replacing unhealthy machines");
    case "launch":
      return t("launching");
    case "image":
      return t("loading the image");
    case "data":
      return t("loading data");
    case "first_step":
      return t("until the first step");
    case "productive":
      return t("steps that were kept");
    case "evaluation":
      return t("evaluation");
    case "checkpoint":
      return t("writing checkpoints");
    case "redone":
      return t("steps made once more");
    case "stalled":
      return t("stalled");
    case "restart":
      return t("restarting");
    case "idle":
      return t("idle at the end");
    case "unmeasured":
      return t("without any step");
    default:
      return name.replaceAll("_", " ");
  }
}

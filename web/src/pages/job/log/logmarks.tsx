import { useEffect, useRef } from "preact/hooks";
import type { Incident } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import { formatCount } from "../../../lib/text/format";
import { evidenceLine, incidentTitle } from "../../../lib/chart/marks";
import type { Ticks } from "../../../state/log/hits";
import { isDark } from "../../../state/core/theme";

const WIDTH = 12;
const REACH_PX = 4;

interface Props {
  total: number;
  height: number;
  hits: Ticks | null;
  errors: Ticks | null;
  incidents: Incident[];
  chosen: number | null;
  onJump(line: number): void;
}

/** Where hits, errors and incidents lie along the scroll bar. */
export function LogMarks({ total, height, hits, errors, incidents, chosen, onJump }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const isDarkNow = isDark();
  // While lines come the marks wander; so slowly that a hundredth is soon enough.
  const rough = Math.round(total / Math.max(1, 10 ** (Math.floor(Math.log10(Math.max(1, total))) - 2)));

  useEffect(() => {
    const element = canvas.current;
    const context = rough > 0 && element?.getContext("2d");
    if (!element || !context) return;
    const scale = window.devicePixelRatio || 1;
    element.width = WIDTH * scale;
    element.height = Math.max(1, height * scale);
    context.scale(scale, scale);
    // Canvas takes no light-dark(): the style's own colours are resolved.
    const { color: hitColor, caretColor: errorColor, outlineColor: hereColor } = getComputedStyle(element);
    const draw = (ticks: Ticks | null, color: string, left: number, width: number): void => {
      context.fillStyle = color;
      for (const line of ticks?.from ?? []) context.fillRect(left, Math.min(height - 2, (line / Math.max(1, total)) * height), width, 2);
    };
    draw(errors, errorColor, WIDTH / 2, WIDTH / 2);
    draw(hits, hitColor, 0, WIDTH / 2);
    if (chosen !== null) draw({ lines: 1, from: [chosen] }, hereColor, 0, WIDTH);
  }, [rough, height, hits, errors, chosen, isDarkNow]);

  const onClick = (event: MouseEvent): void => {
    const at = (event.offsetY / Math.max(1, height)) * total;
    const reach = (REACH_PX / Math.max(1, height)) * total;
    const near = [...(hits?.from ?? []), ...(errors?.from ?? [])].sort((a, b) => Math.abs(a - at) - Math.abs(b - at))[0];
    onJump(Math.max(0, Math.min(total - 1, Math.floor(near !== undefined && Math.abs(near - at) <= reach ? near : at))));
  };
  return (
    <div class="logmarks" aria-hidden="true">
      <canvas ref={canvas} style={{ width: `${WIDTH}px`, height: `${height}px` }} onClick={onClick} />
      {total > 0 &&
        incidents.map((incident) => {
          const at = evidenceLine(incident);
          if (at === null) return null;
          const title = t("line {n}: {what}", { n: formatCount(at), what: incidentTitle(incident) });
          return <i key={incident.id} class={`severity ${incident.severity}`} style={{ top: `${Math.min(100, (at / total) * 100)}%` }} title={title} onClick={() => onJump(at)} />;
        })}
    </div>
  );
}

// The panels in their places. Only those in sight are mounted: of the others there is the frame.
import { useSignal, type Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../../i18n/i18n";
import { COLUMNS, type Panel, type Workspace } from "../../lib/workspace/document";
import { neighbour, place, resized, type Direction } from "../../lib/workspace/layout";
import type { WorkspaceStore } from "../../state/workspace/workspace";
import { lazy } from "../../ui/lazy";
import { LineBody } from "./line";
import type { Cursor } from "./plot";
import { useSeen } from "./useseen";

const Others = lazy(async () => (await import("./bodies")).OtherBody, 3);

export const ROW_PX = 152;
const GAP_PX = 8;

export interface Acts {
  change(index: number, next: (panel: Panel) => Panel, kind?: string): void;
  add(kind: Panel["kind"]): void;
  move(from: number, to: number): void;
  copy(index: number): void;
  remove(index: number): void;
  edit(index: number): void;
  focus(index: number): void;
}

interface Drop {
  /** Which panel is carried, and where it would come to stand. */
  from: number;
  to: number;
  isBefore: boolean;
  over: number;
}

interface Props {
  store: WorkspaceStore;
  workspace: Workspace;
  editing: number | null;
  acts: Acts;
}

export function Grid({ store, workspace, editing, acts }: Props) {
  const { panels } = workspace;
  const cursor = useSignal<Cursor>({ x: null, owner: null });
  const drop = useSignal<Drop | null>(null);
  const placed = place(panels);
  return (
    <div class="panels" role="group" aria-label={t("Panels")}>
      {panels.length === 0 && (
        <p class="nothing">
          {t("No panel yet.")}{" "}
          <button type="button" class="primary" onClick={() => acts.add("line")}>
            {t("Add a panel of curves")}
          </button>
        </p>
      )}
      {panels.map((panel, i) => (
        <Frame
          key={i}
          index={i}
          panel={panel}
          style={{ gridColumn: `${(placed[i]?.column ?? 0) + 1} / span ${panel.width}`, gridRow: `${(placed[i]?.row ?? 0) + 1} / span ${panel.height}` }}
          store={store}
          workspace={workspace}
          isEdited={editing === i}
          acts={acts}
          cursor={cursor}
          drop={drop}
        />
      ))}
    </div>
  );
}

interface FrameProps {
  index: number;
  panel: Panel;
  style: Record<string, string>;
  store: WorkspaceStore;
  workspace: Workspace;
  isEdited: boolean;
  acts: Acts;
  cursor: Signal<Cursor>;
  drop: Signal<Drop | null>;
}

const ARROWS: Readonly<Record<string, Direction>> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

export function titleOf(panel: Panel): string {
  if (panel.title) return panel.title;
  if (panel.kind === "line") return panel.expressions.join(", ") || t("Curves");
  if (panel.kind === "scatter") return t("{y} by {x}", { x: panel.x, y: panel.y });
  if (panel.kind === "table") return t("Table");
  if (panel.kind === "number") return panel.expression;
  return t("Text");
}

function Frame({ index, panel, style, store, workspace, isEdited, acts, cursor, drop }: FrameProps) {
  const host = useRef<HTMLDivElement>(null);
  const isSeen = useSeen(host);
  const size = useSignal<{ width: number; height: number } | null>(null);
  const { width, height } = size.value ?? panel;
  const dropped = drop.value;
  const isOver = dropped !== null && dropped.over === index && dropped.from !== index;
  const title = titleOf(panel);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = ARROWS[event.key];
    const resize = (w: number, h: number): void => acts.change(index, (one) => resized(one, one.width + w, one.height + h));
    if (direction) {
      const to = neighbour(workspace.panels, index, direction);
      if (event.shiftKey) acts.move(index, to);
      else acts.focus(to);
    } else if (event.key === "Enter" || event.key === "e") acts.edit(index);
    else if (event.key === "w") resize(1, 0);
    else if (event.key === "W") resize(-1, 0);
    else if (event.key === "h") resize(0, 1);
    else if (event.key === "H") resize(0, -1);
    else if (event.key === "d") acts.copy(index);
    else if (event.key === "Delete") acts.remove(index);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={host}
      role="group"
      class={["panel", panel.kind, isEdited && "edited", dropped?.from === index && "carried", isOver && (dropped.isBefore ? "before" : "behind")].filter(Boolean).join(" ")}
      style={size.value ? { ...style, gridColumn: style["gridColumn"]?.replace(/span \d+/, `span ${width}`) ?? "", gridRow: style["gridRow"]?.replace(/span \d+/, `span ${height}`) ?? "", zIndex: "2" } : style}
      data-panel={index}
      tabIndex={0}
      aria-label={t("Panel {n}: {title}", { n: index + 1, title })}
      onKeyDown={onKeyDown}
    >
      <header onPointerDown={(event) => carry(event, index, drop, acts)}>
        <h2 title={title}>
          <bdi>{title}</bdi>
        </h2>
        <span class="tools">
          <button type="button" class="quiet" aria-label={t("Change {title}", { title })} title={t("Change (e)")} onClick={() => acts.edit(index)}>
            ✎
          </button>
          <button type="button" class="quiet" aria-label={t("Copy {title}", { title })} title={t("Copy (d)")} onClick={() => acts.copy(index)}>
            +
          </button>
          <button type="button" class="quiet" aria-label={t("Remove {title}", { title })} title={t("Remove (Delete); Ctrl+Z brings it back")} onClick={() => acts.remove(index)}>
            ✕
          </button>
        </span>
      </header>
      <div class="body">
        {isSeen && (panel.kind === "line" ? <LineBody store={store} workspace={workspace} panel={panel} cursor={cursor} /> : <Others store={store} workspace={workspace} panel={panel} onChange={(next) => acts.change(index, () => next)} />)}
      </div>
      <span class="grip" aria-hidden="true" onPointerDown={(event) => stretch(event, panel, size, (next) => acts.change(index, () => next))} />
    </div>
  );
}

/** From the press on a panel's head to its release: it takes the place before or behind the one below the pointer. */
function carry(event: PointerEvent, from: number, drop: Signal<Drop | null>, acts: Acts): void {
  if (event.button !== 0 || (event.target as Element).closest("button")) return;
  const head = event.currentTarget as HTMLElement;
  head.setPointerCapture(event.pointerId);
  const onMove = ({ clientX, clientY }: PointerEvent): void => {
    if (!drop.peek() && Math.hypot(clientX - event.clientX, clientY - event.clientY) < SLOP_PX) return;
    const under = document.elementsFromPoint(clientX, clientY).find((one) => one.matches("[data-panel]"));
    const over = under ? Number(under.getAttribute("data-panel")) : from;
    const box = under?.getBoundingClientRect();
    const isBefore = box ? clientX < box.left + box.width / 2 : false;
    const behind = over + (isBefore ? 0 : 1);
    drop.value = { from, over, isBefore, to: behind > from ? behind - 1 : behind };
  };
  follow(head, onMove, (isDone) => {
    const last = drop.peek();
    drop.value = null;
    if (isDone && last && last.to !== from) acts.move(from, last.to);
  });
}

/** The pointer's way until it is lifted, or taken away as when a finger scrolls: of one way nothing is left at the next. */
function follow(element: HTMLElement, onMove: (event: PointerEvent) => void, onEnd: (isDone: boolean) => void): void {
  const over = new AbortController();
  const { signal } = over;
  const end = (isDone: boolean): void => (over.abort(), onEnd(isDone));
  element.addEventListener("pointermove", onMove, { signal });
  element.addEventListener("pointerup", () => end(true), { signal });
  element.addEventListener("pointercancel", () => end(false), { signal });
}

const SLOP_PX = 5;

/** The lower right corner follows the pointer in steps of the grid. */
function stretch(event: PointerEvent, panel: Panel, size: Signal<{ width: number; height: number } | null>, done: (panel: Panel) => void): void {
  if (event.button !== 0) return;
  event.preventDefault();
  const grip = event.currentTarget as HTMLElement;
  const column = ((grip.closest(".panels")?.clientWidth ?? 0) + GAP_PX) / COLUMNS;
  grip.setPointerCapture(event.pointerId);
  const onMove = ({ clientX, clientY }: PointerEvent): void => {
    const { width, height } = resized(panel, panel.width + (clientX - event.clientX) / column, panel.height + (clientY - event.clientY) / (ROW_PX + GAP_PX));
    size.value = { width, height };
  };
  follow(grip, onMove, (isDone) => {
    const last = size.peek();
    size.value = null;
    if (isDone && last) done({ ...panel, ...last });
  });
}


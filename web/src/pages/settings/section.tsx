import type { ComponentChildren } from "preact";
import { t } from "../../i18n/i18n";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import type { Part } from "./parts";

interface Props {
  id: string;
  title: string;
  children: ComponentChildren;
}

export function Section({ id, title, children }: Props) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

/** A section over a document of the server: what is wrong with it, rows while it is on its way, what was done last. */
export function PartSection<T>({ part, children, ...rest }: Props & { part: Part<T> }) {
  const problem = part.problem.value;
  const isRefused = problem?.status === 401 || problem?.status === 403;
  return (
    <Section {...rest}>
      {isRefused && <p class="dim">{t("Only an administrator's token may see this.")}</p>}
      {problem && !isRefused && <ProblemBox problem={problem} onRetry={() => void part.load()} />}
      {part.value.value !== null && !isRefused ? children : !problem && <Skeleton rows={4} />}
      <p class="said" role="status">
        {part.said}
      </p>
    </Section>
  );
}

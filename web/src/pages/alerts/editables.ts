// What the views of rules and webhooks and their forms share.
import type { Rule, RuleDraft, Webhook, WebhookDraft } from "../../api/alerts";
import type { Editable } from "../../state/core/editable";
import { session } from "../../state/core/session";

export type Rules = Editable<Rule, RuleDraft>;
export type Webhooks = Editable<Webhook, WebhookDraft>;

/** Where the server wants no token everybody may. */
export const mayChange = (): boolean => session.value?.required !== true || session.value.scope === "admin";

import * as vscode from 'vscode';
import * as z from 'zod/mini';
import { messageOf } from '../../core/shared/errors';
import { type Wake, wakeSchema } from '../../core/inbox/inbox';
import { processIdentitySchema } from '../../core/recovery/liveness';
import { setting } from '../shared/config';
import { plain } from '../shared/messages';
import type { InboxModel } from './inboxModel';
import type { Resumable } from './resume';

const OPEN_KEY = 'atlas.openWakes';
/** So many answers that come at once are told one by one; more are told together. */
const MAX_SINGLE = 3;
/** So much of an answer is kept for the message; all of it is in the inbox. */
const MAX_SUMMARY = 300;
const MAX_OPEN = 100;

const offerSchema = z.object({
  workspace: z.string(),
  wake: wakeSchema,
  /** The window that took it. */
  taker: processIdentitySchema,
});

/** A wake that this window took, and that nobody has answered yet. */
type Offer = z.infer<typeof offerSchema>;

/** What is done about an offer. */
export interface WakeActions {
  resume(session: Resumable): Promise<void>;
  show(item: { readonly workspace: string; readonly id: number }): void;
  showAll(): void;
}

/**
 * Takes the wakes of the window's workspaces, each of which one window gets, and offers to resume the session that waits. Until
 * an offer is answered it is remembered: the window that comes after one that died makes it again.
 */
export class WakeOffers implements vscode.Disposable {
  private sweeping: Promise<void> = Promise.resolve();
  private readonly subscriptions: vscode.Disposable[];

  /** @param memory of the window's folder: windows of other folders have their own */
  constructor(
    private readonly model: InboxModel,
    private readonly memory: vscode.Memento,
    private readonly actions: WakeActions,
  ) {
    const sweep = (): void => void this.sweep();
    this.subscriptions = [model.onDidLook(sweep), vscode.workspace.onDidGrantWorkspaceTrust(sweep)];
    this.tell(this.leftByTheDead());
  }

  /** Takes what is there and offers it. One sweep at a time. */
  async sweep(): Promise<void> {
    this.sweeping = this.sweeping
      .then(() => this.sweepOnce())
      .catch((error: unknown) => {
        this.model.session.atlas.ports.log.error('Looking for wakes failed.', { error: messageOf(error) });
      });
    return this.sweeping;
  }

  private async sweepOnce(): Promise<void> {
    // Who doesn't want to be told leaves them to another window.
    if (!vscode.workspace.isTrusted || !setting('notifications.inboxAnswered')) return;
    const { atlas } = this.model.session;
    const offers: Offer[] = [];
    for (const workspace of this.model.session.ownWorkspaces()) {
      const taken = await this.model.inbox.consumeWakes(workspace);
      if (!taken.ok) {
        if (taken.error.code !== 'not_found')
          atlas.ports.log.warn('Wakes could not be taken.', { error: taken.error.message });
        continue;
      }
      for (const wake of taken.value.wakes) offers.push(this.offerOf(workspace, wake));
    }
    if (offers.length === 0) return;
    await this.remember([...this.remembered(), ...offers]);
    this.tell(offers);
  }

  private offerOf(workspace: string, wake: Wake): Offer {
    const summary = plain(wake.response_summary, MAX_SUMMARY);
    return {
      workspace,
      wake: { ...wake, response_summary: summary },
      taker: this.model.session.atlas.ports.processes.self(),
    };
  }

  private remembered(): Offer[] {
    const kept: unknown = this.memory.get(OPEN_KEY);
    return (Array.isArray(kept) ? kept : []).flatMap((each) => {
      const parsed = offerSchema.safeParse(each);
      return parsed.success ? [parsed.data] : [];
    });
  }

  private async remember(offers: readonly Offer[]): Promise<void> {
    await this.memory.update(OPEN_KEY, offers.length === 0 ? undefined : offers.slice(-MAX_OPEN));
  }

  /** What a window took that ended before anybody answered; it is this one's from now on. */
  private leftByTheDead(): Offer[] {
    if (!vscode.workspace.isTrusted) return [];
    const { processes } = this.model.session.atlas.ports;
    const all = this.remembered();
    const left = all.filter(({ taker }) => processes.vitality(taker) !== 'alive');
    if (left.length === 0) return [];
    const mine = left.map((offer) => ({ ...offer, taker: processes.self() }));
    void this.remember([...all.filter((offer) => !left.includes(offer)), ...mine]);
    return mine;
  }

  private tell(offers: readonly Offer[]): void {
    if (offers.length <= MAX_SINGLE) for (const offer of offers) this.tellOne(offer);
    else this.tellAll(offers);
  }

  private tellOne(offer: Offer): void {
    const { task_id: id, trigger_name: trigger, session_id: sessionId, response_summary: summary } = offer.wake;
    const message = vscode.l10n.t(
      'Queue item {0} of {1} is done: {2}',
      id,
      plain(trigger, 60),
      plain(summary, MAX_SUMMARY),
    );
    const resume = vscode.l10n.t('Resume Session');
    const show = vscode.l10n.t('Show');
    const buttons = sessionId === null ? [show] : [resume, show];
    this.answered([offer], vscode.window.showInformationMessage(message, ...buttons), async (answer) => {
      if (answer === resume) await this.actions.resume({ workspace: offer.workspace, sessionId, trigger });
      if (answer === show) this.actions.show({ workspace: offer.workspace, id });
    });
  }

  private tellAll(offers: readonly Offer[]): void {
    const show = vscode.l10n.t('Show Agent Queue');
    const message = vscode.l10n.t('{0} queue items that sessions are waiting for are done.', offers.length);
    this.answered(offers, vscode.window.showInformationMessage(message, show), (answer) => {
      if (answer === show) this.actions.showAll();
    });
  }

  /** Once a message is answered or sent away, its offers are forgotten; the item still offers to resume. */
  private answered(
    offers: readonly Offer[],
    message: Thenable<string | undefined>,
    act: (answer: string | undefined) => Promise<void> | void,
  ): void {
    void (async () => {
      const answer = await message;
      const told = new Set(offers.map(keyOf));
      await this.remember(this.remembered().filter((offer) => !told.has(keyOf(offer))));
      await act(answer);
    })().catch((error: unknown) => {
      this.model.session.atlas.ports.log.error('Answering a wake failed.', { error: messageOf(error) });
    });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

function keyOf({ workspace, wake }: Offer): string {
  return `${workspace}/${wake.task_id}`;
}

import type { HookMarkdownInput, ReceiptVerdict, SessionSections } from '../../core/hookMarkdown/view';
import { renderHookMarkdown } from '../../core/hookMarkdown/hookMarkdown';
import { defined } from '../../core/shared/defined';
import { lastRunOf } from '../../core/hookMarkdown/current';
import { ok } from '../../core/shared/errors';
import type { StoredTask } from '../../core/task/storedTask';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { MarkdownRenderer } from '../../store/task/storePorts';
import type { AtlasReader } from '../atlasReader';
import type { ServicePorts } from '../ports';
import type { ReceiptService } from '../receipts/receiptService';

/** What HOOK.md is made of, but for the verdicts on receipts. */
export function markdownInput(
  { paths, version }: Pick<ServicePorts, 'paths' | 'version'>,
  { ref, hook, task, seq }: StoredTask,
  verdicts: HookMarkdownInput['verdicts'] = new Map<string, ReceiptVerdict>(),
  session?: SessionSections,
): HookMarkdownInput {
  const location = { root: paths.root, hookPath: paths.markdown(ref) };
  return { hook, task, seq, location, verdicts, version, ...(session === undefined ? {} : { session }) };
}

/** Makes HOOK.md's text. Writing is synchronous, so that what verifies receipts is loaded before, where there are any. */
export class MarkdownWriter {
  private receipts: ReceiptService | undefined;
  private readonly sessions = new Map<string, SessionSections | undefined>();

  constructor(private readonly atlas: Pick<AtlasReader, 'ports' | 'catalog' | 'receipts'>) {}

  /** Loads what the text will need. */
  async prepare(ref: TaskRef, left: StoredTask | undefined): Promise<void> {
    const { ports, catalog } = this.atlas;
    const { sessionOf } = await import('../sessions/sessionOfTask');
    this.sessions.set(refKey(ref), sessionOf(ports, ref));
    const read = left === undefined ? catalog.read(ref) : ok(left);
    if (!read.ok) return;
    const stored = read.value;
    const statements = ports.files.stat(ports.paths.receipts(ref)) !== undefined;
    if (!statements && stored.hook.receipts.length === 0) return;
    this.receipts = await this.atlas.receipts();
    await this.receipts.prepareTask(stored);
  }

  /** Keeps what was found out for {@link prepare}, for other processes: where something is written anyway. */
  keep(ref: TaskRef): void {
    this.receipts?.keepGood(ref);
  }

  readonly render: MarkdownRenderer = (ref, hook, task, seq) =>
    renderHookMarkdown(this.inputOf({ ref, hook, task, seq }));

  private inputOf(stored: StoredTask): HookMarkdownInput {
    const verdicts = this.receipts?.verdicts(stored);
    return markdownInput(this.atlas.ports, stored, verdicts, this.sessions.get(refKey(stored.ref)));
  }

  /** The text as it would be now, after {@link prepare}: with whether the last run of a check was of the present files. */
  async renderNow(stored: StoredTask): Promise<string> {
    const lastRunFiles = await this.lastRunFiles(stored);
    return renderHookMarkdown({ ...this.inputOf(stored), ...defined({ lastRunFiles }) });
  }

  /** Asked of git only where it is told of, beside what the agent said. */
  private async lastRunFiles(stored: StoredTask): Promise<HookMarkdownInput['lastRunFiles']> {
    const { receipts } = this;
    const last = lastRunOf(stored.hook);
    if (last === undefined || receipts === undefined) return undefined;
    if (this.sessions.get(refKey(stored.ref))?.hasMessage !== true) return undefined;
    const reports = await receipts.reports(stored);
    const report = reports.ok ? reports.value.get(last.receipt_id) : undefined;
    if (report === undefined) return undefined;
    receipts.forgetTrees();
    const kind = (await receipts.currencies(stored, [report], () => false)).get(last.receipt_id)?.kind;
    return kind === 'unknown' ? undefined : kind;
  }
}

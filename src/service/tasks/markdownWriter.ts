import type { HookMarkdownInput, ReceiptVerdict, SessionSections } from '../../core/hookMarkdown/view';
import { renderHookMarkdown } from '../../core/hookMarkdown/hookMarkdown';
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

  readonly render: MarkdownRenderer = (ref, hook, task, seq) => {
    const verdicts = this.receipts?.verdicts({ ref, hook });
    const session = this.sessions.get(refKey(ref));
    return renderHookMarkdown(markdownInput(this.atlas.ports, { ref, hook, task, seq }, verdicts, session));
  };
}

import * as z from 'zod/mini';
import { TOOLS, prefixed } from '../src/cli/mcp/tools.ts';

/** The icons of the tools, by name. */
const ICONS: Readonly<Record<string, string>> = {
  atlas_status: '$(info)',
  atlas_read_hook: '$(book)',
  atlas_start_step: '$(play)',
  atlas_note: '$(note)',
  atlas_checkpoint: '$(bookmark)',
  atlas_validate: '$(beaker)',
  atlas_submit_output: '$(output)',
  atlas_complete_step: '$(check)',
  atlas_ask_human: '$(question)',
  atlas_recover: '$(debug-restart)',
  atlas_verify_receipts: '$(verified)',
  atlas_get_next_task: '$(inbox)',
  atlas_task_complete: '$(checklist)',
  atlas_inbox_add: '$(add)',
};

/** `atlasReadHook` for `atlas_read_hook`. */
function referenceName(name: string): string {
  const words = name.replace(/^atlas_/u, '').split('_');
  return `atlas${words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join('')}`;
}

/** `contributes.languageModelTools` of package.json: the tools of `atlas mcp`, so that both are the same. */
export function languageModelTools(): object[] {
  return TOOLS.map(({ name: own, description, input, readOnly }) => {
    const name = prefixed(own);
    const { $schema: _version, ...inputSchema } = z.toJSONSchema(input, { io: 'input', target: 'draft-7' });
    return {
      name,
      displayName: `%tool.${name}.name%`,
      userDescription: `%tool.${name}.description%`,
      modelDescription: description,
      toolReferenceName: referenceName(name),
      canBeReferencedInPrompt: true,
      icon: ICONS[name],
      tags: ['atlas', readOnly === true ? 'read' : 'write'],
      when: 'isWorkspaceTrusted && workspaceFolderCount > 0',
      inputSchema,
    };
  });
}

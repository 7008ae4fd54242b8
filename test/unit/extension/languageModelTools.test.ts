import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { languageModelTools } from '../../../scripts/manifestTools.mts';
import { TOOLS, prefixed } from '../../../src/cli/mcp/tools';
import { PROJECT } from '../../support/project';

interface ContributedTool {
  readonly name: string;
  readonly displayName: string;
  readonly userDescription: string;
  readonly toolReferenceName: string;
  readonly icon: string;
  readonly tags: readonly string[];
  readonly inputSchema: object;
}

function json(name: string): unknown {
  return JSON.parse(readFileSync(path.join(PROJECT, name), 'utf8'));
}

const { contributes } = json('package.json') as { contributes: { languageModelTools: ContributedTool[] } };
const texts = json('package.nls.json') as Record<string, string>;

describe('the tools that the manifest contributes', () => {
  it('are those of "atlas mcp"; if not, run: npx tsx scripts/manifest.mts', () => {
    expect(contributes.languageModelTools).toEqual(languageModelTools());
  });

  it('have a name, a text for people and an icon each, and no two the same', () => {
    const tools = contributes.languageModelTools;
    for (const [index, { name, displayName, userDescription, toolReferenceName, icon }] of tools.entries()) {
      expect(texts[displayName.slice(1, -1)], name).toBe(TOOLS[index]?.title);
      expect(texts[userDescription.slice(1, -1)], name).toMatch(/^[A-Z].+\.$/u);
      expect(icon, name).toMatch(/^\$\([a-z-]+\)$/u);
      // A name that the editor gives to one of its own tools costs it all of its own: VS Code 1.139 has task_complete.
      expect(name).toMatch(/^atlas_/u);
      expect(toolReferenceName, name).toMatch(/^atlas[A-Z]\w+$/u);
    }
    expect(new Set(tools.map(({ toolReferenceName }) => toolReferenceName)).size).toBe(tools.length);
  });

  it('take what the tools take, and nothing else', () => {
    for (const { name, inputSchema } of contributes.languageModelTools) {
      const validate = new Ajv({ strict: true }).compile(inputSchema);
      const input = TOOLS.find((tool) => prefixed(tool.name) === name)?.input;
      const tried: unknown[] = [
        ...[{}, { task: 'x' }, { workspace: 7 }, { nonsense: 1 }, { attempt: 0 }, { attempt: 1 }, { step: 'x' }],
        ...[{ description: 'x' }, { question: 'x' }, { content: 'x' }, { task_id: 0, response_summary: '' }],
        ...[{ task_id: 1, response_summary: 'x' }, { command: 'x' }, { files: ['a', 1] }, { dry_run: 'yes' }, null, []],
      ];
      for (const value of tried)
        expect(validate(value), `${name} ${JSON.stringify(value)}`).toBe(input?.safeParse(value).success);
    }
  });
});

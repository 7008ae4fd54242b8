import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { SETTINGS } from '../../src/extension/shared/config';
import { TASK_ACTIONS } from '../../src/core/task/taskActions';
import { atlasApi } from './support/atlasApi';

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string }[];
    readonly menus: Readonly<Record<string, readonly { readonly command: string; readonly group?: string }[]>>;
    readonly configuration: { readonly properties: Readonly<Record<string, { readonly default: unknown }>> };
    readonly walkthroughs: readonly { readonly steps: readonly { readonly media: { readonly image: string } }[] }[];
    readonly jsonValidation: readonly { readonly url: string }[];
  };
}

describe('the manifest and the code agree', () => {
  let root: string;
  let text: string;
  let manifest: Manifest;

  before(async () => {
    await atlasApi();
    root = vscode.extensions.getExtension('atlas-hooks.atlas-hooks')?.extensionPath ?? '';
    text = readFileSync(path.join(root, 'package.json'), 'utf8');
    manifest = JSON.parse(text) as Manifest;
  });

  it('every contributed command is registered, and the reverse', async () => {
    const contributed = manifest.contributes.commands.map(({ command }) => command).sort();
    const registered = (await vscode.commands.getCommands(true)).filter((id) => /^atlas\.[a-z]\w+$/u.test(id)).sort();
    // The editor itself adds commands for the view, with a dot after its id.
    assert.deepEqual(registered, contributed);
  });

  it('every menu names a contributed command, with at most three inline for one row', () => {
    const contributed = new Set(manifest.contributes.commands.map(({ command }) => command));
    for (const items of Object.values(manifest.contributes.menus)) {
      for (const { command } of items) assert.ok(contributed.has(command), command);
    }
  });

  it('every button of the panel is one of the commands', () => {
    const contributed = new Set(manifest.contributes.commands.map(({ command }) => command));
    for (const action of TASK_ACTIONS) assert.ok(contributed.has(`atlas.${action}`), action);
  });

  it('every setting has the default that the code uses, and the reverse', () => {
    const { properties } = manifest.contributes.configuration;
    const contributed = Object.fromEntries(Object.entries(properties).map(([id, { default: value }]) => [id, value]));
    const used = Object.fromEntries(Object.entries(SETTINGS).map(([name, value]) => [`atlas.${name}`, value]));
    assert.deepEqual(contributed, used);
  });

  it('every text of the manifest is there, and none is left over', () => {
    const known = JSON.parse(readFileSync(path.join(root, 'package.nls.json'), 'utf8')) as Record<string, string>;
    const asked = new Set([...text.matchAll(/"%([^%"]+)%"/gu)].map((match) => match[1] ?? ''));
    assert.deepEqual([...asked].sort(), Object.keys(known).sort());
  });

  it('every file that it names is there', () => {
    const files = [
      ...manifest.contributes.walkthroughs.flatMap(({ steps }) => steps.map(({ media }) => media.image)),
      ...manifest.contributes.jsonValidation.map(({ url }) => url),
    ];
    for (const file of files) assert.ok(existsSync(path.join(root, file)), file);
  });
});

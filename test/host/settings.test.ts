import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { atlasApi } from './support/atlasApi';
import { eventually } from './support/gitApi';

describe('config.yaml', () => {
  let file = '';

  after(() => writeFileSync(file, 'hooks: {}\n'));

  it('changed by another program is taken up at once, and a bad value is marked where it stands', async () => {
    const api = await atlasApi();
    file = path.join(api.root, 'config.yaml');
    const problems = (): vscode.Diagnostic[] => vscode.languages.getDiagnostics(vscode.Uri.file(file));
    const changed = vscode.languages.onDidChangeDiagnostics;
    writeFileSync(file, 'hooks:\n  stale_threshold: 5m\n  max_checkpoints: -3\n');
    const [problem] = await eventually(changed, () => (problems().length > 0 ? problems() : undefined));
    assert.equal(problem?.range.start.line, 2);
    assert.match(problem.message, /hooks\.max_checkpoints: at least 1/u);
    writeFileSync(file, 'hooks: {}\n');
    await eventually(changed, () => (problems().length === 0 ? true : undefined));
  });
});
